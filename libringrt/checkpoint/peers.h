// SPDX-License-Identifier: BSD-3-Clause
// What checkpoints and the step boundary need of the other ranks: small collectives over bytes.
// The runtime gives them its communicator; tests give threads, or one rank alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "libringrt/outcome.h"

namespace ringrt::checkpoint {

class Peers {
  public:
    virtual ~Peers() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Collective. all holds size()·mine.size() bytes, in rank order.
    virtual Outcome allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
    // Collective. From rank 0 to all.
    virtual Outcome broadcast(std::span<std::byte> bytes) = 0;
    // From now on (until the same with false) ranks read and write files between two collectives:
    // who comes late need not be stopped. Counts.
    virtual void expect_file_work(bool) {}
};

// For as long as it lives.
class FileWork {
  public:
    explicit FileWork(Peers &peers) : peers_(peers) { peers_.expect_file_work(true); }
    ~FileWork() { peers_.expect_file_work(false); }
    FileWork(const FileWork &) = delete;
    FileWork &operator=(const FileWork &) = delete;

  private:
    Peers &peers_;
};

// One trivially copyable value per rank.
template <typename Value>
Outcome gather(Peers &peers, const Value &mine, std::vector<Value> &all) {
    all.resize(static_cast<size_t>(peers.size()));
    return peers.allgather(std::as_bytes(std::span(&mine, 1)),
                           std::as_writable_bytes(std::span(all)));
}

template <typename Value>
Outcome broadcast(Peers &peers, Value &value) {
    return peers.broadcast(std::as_writable_bytes(std::span(&value, 1)));
}

// How one rank's part ended, small enough to be gathered.
struct Verdict {
    int32_t status = RINGRT_OK;
    char message[252] = {};

    static Verdict of(const Outcome &outcome);
    Outcome outcome() const;
};

// Collective. Ok where every rank's part went well, else the outcome of the lowest rank that
// failed, the same on all ranks.
Outcome vote(Peers &peers, const Outcome &mine);

// Collective. Rank 0's outcome on all ranks.
Outcome follow(Peers &peers, const Outcome &of_rank_0);

}  // namespace ringrt::checkpoint
