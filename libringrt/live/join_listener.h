// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 of the base accepts extensions that want to join, on its own thread. A secret in a file of
// the checkpoint directory, readable only by its owner, authenticates them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "libringrt/base/socket.h"
#include "libringrt/bootstrap/handshake.h"
#include "libringrt/live/join_messages.h"

namespace ringrt::live {

class JoinListener {
  public:
    // `layout`, `settings`: as in JoinRequest.
    JoinListener(std::string directory, uint64_t layout, uint32_t settings);
    ~JoinListener();  // closes all connections, so that waiting ranks see that the base is gone
    JoinListener(const JoinListener &) = delete;
    JoinListener &operator=(const JoinListener &) = delete;

    Status start();

    struct Offer {
        uint32_t number = 0, ranks = 0;  // number 0: none
    };
    // An extension of which every rank waits here; the same one until it joins or disconnects.
    Offer offer();
    // Its ranks get first_rank, first_rank + 1 … of `size`.
    void invite(uint32_t number, int first_rank, int size);
    // Whether an invited rank has closed its connection.
    bool is_gone(uint32_t number);
    // Call after it joined, or when the join is called off; in that case its ranks ask again.
    void close(uint32_t number);

  private:
    struct Visitor {
        Fd fd;
        JoinRequest request;
        size_t received = 0;
    };
    struct Extension {
        uint32_t number = 0, ranks = 0;
        bool invited = false, gone = false;
        std::map<uint32_t, Fd> connections;  // by rank
    };
    void run();
    void read_request(Visitor &visitor);
    void admit(Visitor &visitor);
    void drop_closed();
    Extension *find(uint32_t number);

    const std::string directory_;
    const uint64_t layout_;
    const uint32_t settings_;
    RankContext self_;
    Fd listener_;
    Secret secret_{};
    std::mutex mutex_;  // guards the extensions below
    std::map<uint64_t, Extension> by_job_;
    uint32_t numbers_ = 0;
    std::vector<Visitor> visitors_;  // used only by the thread
    std::atomic<bool> end_{false};
    std::thread thread_;
};

}  // namespace ringrt::live
