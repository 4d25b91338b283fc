// SPDX-License-Identifier: BSD-3-Clause
// Rank 0's end of the channel to Slurm (doc/channel.md): an abstract UNIX socket that the SPANK
// plugin serves outside any container. A thread reads it. Without a channel, or after it is lost,
// signals and scontrol replace it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "libringrt/base/child_process.h"
#include "libringrt/base/closed_in_children.h"
#include "libringrt/base/socket.h"
#include "slurm_plugin/records/channel.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::job {

class Channel {
  public:
    // `address`: as in RINGRT_CHANNEL. nullptr if no socket listens there. Does not wait.
    static std::unique_ptr<Channel> open(const std::string &address);
    ~Channel();
    Channel(const Channel &) = delete;
    Channel &operator=(const Channel &) = delete;

    // Whether the peer has sent the right key and is still connected.
    [[nodiscard]] bool is_there() const { return there_; }
    [[nodiscard]] uint32_t asked() const { return asked_; }  // requests to leave so far
    [[nodiscard]] uint32_t ended() const { return ended_; }  // SIGTERMs to the step so far
    [[nodiscard]] uint32_t keep() const { return keep_; }    // the last `keep`; 0: none

    // False if the message cannot be sent now. Neither call waits.
    bool send_telemetry(const records::Telemetry &telemetry);
    bool ask_requeue(uint64_t step);
    // Slurm's answer to the last request, in scontrol's form. Returned once.
    std::optional<CommandResult> take_answer();

  private:
    Channel(Fd connection, Fd wake, std::string key);
    void read_messages();
    bool take_message();
    bool act_on(const records::ChannelMessage &message);
    bool send(const records::ChannelMessage &message);

    const Fd connection_;
    const Fd wake_;  // an eventfd that ends the thread
    const std::string key_;
    const ClosedInChildren closed_;
    std::atomic<bool> there_{false};
    std::atomic<uint32_t> asked_{0}, ended_{0}, keep_{0};
    std::mutex mutex_;
    std::optional<CommandResult> answer_;
    std::thread thread_;  // last: starts when all other members exist
};

}  // namespace ringrt::job
