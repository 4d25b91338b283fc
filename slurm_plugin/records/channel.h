// SPDX-License-Identifier: BSD-3-Clause
// Messages between rank 0 of a job and the SPANK plugin on its node (doc/channel.md). PURE.
//
// A message is one datagram of one line: a word, a number, and for some words a text.
//
//   to rank 0    hello 1 KEY        first: the version, and the key from RINGRT_CHANNEL
//                asked N            save and requeue, request N: the scheduler's signal came, or
//                                   Slurm preempts the job
//                answer CODE WORDS  result of the requeue: 0, or Slurm's error number
//                ended N            SIGTERM came: Slurm ends the step
//                keep RANKS         the ranks that the job is to keep, on whole nodes, while it
//                                   trains; 0: the order is withdrawn
//   from rank 0  requeue STEP       saved at STEP, ready to leave
//                telemetry 0 RECORD records/telemetry.h
//
// The job's owner can write anything here. A datagram that is longer than kChannelBytesMax, has
// another form or is not printable is invalid.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::records {

inline constexpr std::size_t kChannelBytesMax = 512;
inline constexpr int64_t kChannelVersion = 1;
// Makes the service read the order of `keep` from the job's record. Processes ignore it by default.
inline constexpr int kKeepSignal = SIGWINCH;

enum class ChannelWord { hello, asked, answer, ended, requeue, telemetry, keep };

struct ChannelMessage {
    ChannelWord word = ChannelWord::hello;
    int64_t number = 0;
    std::string text;

    bool operator==(const ChannelMessage &) const = default;
};

[[nodiscard]] std::optional<ChannelMessage> parse_channel(std::string_view datagram);
// At most kChannelBytesMax bytes; unprintable characters in the text become blanks.
[[nodiscard]] std::string format_channel(const ChannelMessage &message);

// RINGRT_CHANNEL=NAME/KEY: an abstract UNIX socket, and the key that the service sends first.
struct ChannelAddress {
    std::string name, key;
};

[[nodiscard]] std::optional<ChannelAddress> parse_channel_address(std::string_view text);

}  // namespace ringrt::records
