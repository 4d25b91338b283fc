// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads of the test, for code that needs only the small collectives of
// checkpoint/group.h.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "libringrt/base/group.h"

namespace ringrt::test {

// The point where the threads meet. A rank that throws breaks it: the others get PEER_LOST.
class Bootstrap {
  public:
    explicit Bootstrap(int size) : size_(size) {}
    int size() const { return size_; }

    Status allgather(int rank, std::span<const std::byte> mine, std::span<std::byte> all) {
        std::unique_lock lock(mutex_);
        if (broken_) return lost();
        buffer_.resize(mine.size() * static_cast<size_t>(size_));
        if (!mine.empty())
            std::memcpy(buffer_.data() + static_cast<size_t>(rank) * mine.size(), mine.data(),
                        mine.size());
        if (!wait(lock)) return lost();
        if (!all.empty()) std::memcpy(all.data(), buffer_.data(), all.size());
        return wait(lock) ? Status{} : lost();
    }

    void break_up() {
        std::lock_guard lock(mutex_);
        broken_ = true;
        changed_.notify_all();
    }

  private:
    static Status lost() { return {RINGRT_PEER_LOST, "a rank is gone"}; }

    bool wait(std::unique_lock<std::mutex> &lock) {
        const int round = round_;
        if (++arrived_ == size_) {
            arrived_ = 0;
            ++round_;
            changed_.notify_all();
        }
        changed_.wait(lock, [&] { return round_ != round || broken_; });
        return round_ != round;
    }

    const int size_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int arrived_ = 0, round_ = 0;
    bool broken_ = false;
    std::vector<std::byte> buffer_;
};

class ThreadGroup final : public Group {
  public:
    ThreadGroup(Bootstrap &bootstrap, int rank) : meeting_(bootstrap), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return meeting_.size(); }
    Status allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        return meeting_.allgather(rank_, mine, all);
    }
    Status broadcast(std::span<std::byte> bytes) override {
        std::vector<std::byte> all(bytes.size() * static_cast<size_t>(size()));
        Status outcome = meeting_.allgather(rank_, bytes, all);
        if (outcome.ok() && !bytes.empty()) std::memcpy(bytes.data(), all.data(), bytes.size());
        return outcome;
    }
    Status largest(std::span<uint8_t> bytes) override {
        std::vector<std::byte> all(bytes.size() * static_cast<size_t>(size()));
        Status outcome = meeting_.allgather(rank_, std::as_bytes(bytes), all);
        for (size_t i = 0; outcome.ok() && i < all.size(); ++i)
            bytes[i % bytes.size()] =
                std::max(bytes[i % bytes.size()], static_cast<uint8_t>(all[i]));
        return outcome;
    }

  private:
    Bootstrap &meeting_;
    const int rank_;
};

// Runs body(group) on `size` threads. Rethrows the first exception after all have ended.
inline void run_ranks(int size, const std::function<void(Group &)> &body) {
    Bootstrap bootstrap(size);
    std::vector<std::exception_ptr> thrown(static_cast<size_t>(size));
    auto run = [&](int rank) {
        ThreadGroup group(bootstrap, rank);
        try {
            body(group);
        } catch (...) {
            thrown[static_cast<size_t>(rank)] = std::current_exception();
            bootstrap.break_up();
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 1; rank < size; ++rank) threads.emplace_back(run, rank);
    run(0);
    for (std::thread &thread : threads) thread.join();
    for (const std::exception_ptr &exception : thrown)
        if (exception) std::rethrow_exception(exception);
}

}  // namespace ringrt::test
