// SPDX-License-Identifier: BSD-3-Clause
// What checkpoints and the step boundary need of the other ranks: small collectives over bytes.
// The runtime gives them its communicator; tests give threads, or one rank alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "libringrt/base/status.h"

namespace ringrt {

class Group {
  public:
    virtual ~Group() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Collective. all holds size()·mine.size() bytes, in rank order.
    virtual Status allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
    // Collective. From rank 0 to all.
    virtual Status broadcast(std::span<std::byte> bytes) = 0;
    // From now on (until the same with false) ranks read and write files between two collectives:
    // who comes late need not be stopped. Counts.
    virtual void expect_file_work(bool) {}
};

// For as long as it lives.
class FileWork {
  public:
    explicit FileWork(Group &group) : group_(group) { group_.expect_file_work(true); }
    ~FileWork() { group_.expect_file_work(false); }
    FileWork(const FileWork &) = delete;
    FileWork &operator=(const FileWork &) = delete;

  private:
    Group &group_;
};

// One trivially copyable value per rank.
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

// How one rank's part ended, small enough to be gathered.
struct StatusMessage {
    int32_t code = RINGRT_OK;
    char message[252] = {};

    static StatusMessage of(const Status &outcome);
    Status outcome() const;
};

// Collective. Ok where every rank's part went well, else the outcome of the lowest rank that
// failed, the same on all ranks.
Status agree(Group &group, const Status &mine);

// Collective. Rank 0's outcome on all ranks.
Status broadcast_status(Group &group, const Status &of_rank_0);

}  // namespace ringrt
