// SPDX-License-Identifier: BSD-3-Clause
// The small collectives over bytes that checkpoints and the step boundary use. The runtime
// implements them with its communicator, tests with threads or a single rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libringrt/base/status.h"

namespace ringrt {

class Group {
  public:
    virtual ~Group() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Collective. `all` gets size()·mine.size() bytes, in rank order.
    virtual Status allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
    // Collective. Sends rank 0's bytes to all.
    virtual Status broadcast(std::span<std::byte> bytes) = 0;
    // Collective. Replaces each byte by the largest of all ranks. For a few bytes.
    virtual Status largest(std::span<uint8_t> bytes) = 0;
    // Until the matching call with false, ranks access files between two collectives, so a late
    // rank is not necessarily stopped. Calls nest.
    virtual void expect_file_work(bool) {}
};

// Expects file work during its lifetime.
class FileWork {
  public:
    explicit FileWork(Group &group) : group_(group) { group_.expect_file_work(true); }
    ~FileWork() { group_.expect_file_work(false); }
    FileWork(const FileWork &) = delete;
    FileWork &operator=(const FileWork &) = delete;

  private:
    Group &group_;
};

// Gathers one trivially copyable value per rank.
template <typename Value>
Status gather(Group &group, const Value &mine, std::vector<Value> &all) {
    all.resize(static_cast<size_t>(group.size()));
    return group.allgather(std::as_bytes(std::span(&mine, 1)),
                           std::as_writable_bytes(std::span(all)));
}

template <typename Value>
Status broadcast(Group &group, Value &value) {
    return group.broadcast(std::as_writable_bytes(std::span(&value, 1)));
}

// The outcome of one rank's part, small enough to be gathered.
struct StatusMessage {
    int32_t code = RINGRT_OK;
    char message[252] = {};

    static StatusMessage of(const Status &outcome);
    Status outcome() const;
};

// Collective. Ok if every rank's part succeeded, otherwise the outcome of the lowest rank that
// failed; the same on all ranks.
Status agree(Group &group, const Status &mine);

// Collective. Returns rank 0's outcome on all ranks.
Status broadcast_status(Group &group, const Status &of_rank_0);

}  // namespace ringrt
