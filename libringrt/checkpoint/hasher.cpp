// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/hasher.h"

#include <system_error>

#include "libringrt/checkpoint/hash.h"

namespace ringrt::checkpoint {

Hasher::~Hasher() {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock(mutex_);
        state_ = State::stopping;
    }
    changed_.notify_all();
    thread_.join();
}

void Hasher::begin(std::span<const std::byte> bytes) {
    const bool is_first = bytes_.data() == nullptr;
    if (!is_first && !tried_) {
        tried_ = true;
        try {
            thread_ = std::thread([this] { run(); });
        } catch (const std::system_error &) {  // none to be had: end() does it
        }
    }
    {
        const std::scoped_lock lock(mutex_);
        bytes_ = bytes;
        state_ = State::waiting;
    }
    changed_.notify_all();
}

uint64_t Hasher::end() {
    std::unique_lock lock(mutex_);
    if (state_ == State::waiting) {
        state_ = State::idle;
        lock.unlock();
        return hash64(bytes_);
    }
    changed_.wait(lock, [this] { return state_ == State::done; });
    state_ = State::idle;
    return hash_;
}

void Hasher::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock,
                      [this] { return state_ == State::waiting || state_ == State::stopping; });
        if (state_ == State::stopping) return;
        state_ = State::under_way;
        const std::span<const std::byte> bytes = bytes_;
        lock.unlock();
        const uint64_t hash = hash64(bytes);
        lock.lock();
        // The destructor may have come meanwhile, where the caller has failed.
        if (state_ == State::stopping) return;
        hash_ = hash;
        state_ = State::done;
        changed_.notify_all();
    }
}

}  // namespace ringrt::checkpoint
