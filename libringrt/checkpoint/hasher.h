// SPDX-License-Identifier: BSD-3-Clause
// hash64 of a piece on a thread of its own, while the caller reads or writes. Where no core is
// free, the caller hashes by itself what the thread has not begun.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>

namespace ringrt::checkpoint {

class Hasher {
  public:
    Hasher() = default;
    ~Hasher();
    Hasher(const Hasher &) = delete;
    Hasher &operator=(const Hasher &) = delete;

    // One at a time; the bytes must stay as they are until end().
    void begin(std::span<const std::byte> bytes);
    // The hash of what was begun.
    [[nodiscard]] uint64_t end();

  private:
    enum class State { idle, waiting, under_way, done, stopping };

    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    State state_ = State::idle;
    std::span<const std::byte> bytes_;
    uint64_t hash_ = 0;
    std::thread thread_;  // from the second piece on
    bool tried_ = false;
};

}  // namespace ringrt::checkpoint
