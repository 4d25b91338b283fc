// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/hasher.h"

#include <system_error>

#include "libringrt/base/thread.h"
#include "libringrt/checkpoint/hash.h"

namespace ringrt::checkpoint {

Hasher::~Hasher() {
    {
        const std::scoped_lock lock(mutex_);
        claimed_ = pieces_.size();
    }
    close();
    if (thread_.joinable()) thread_.join();
}

void Hasher::add(std::span<const std::byte> bytes) {
    size_t added;
    {
        const std::scoped_lock lock(mutex_);
        pieces_.push_back({.bytes = bytes});
        added = pieces_.size();
    }
    changed_.notify_one();
    if (added != 2) return;
    try {
        thread_ = start_thread([this] { run(); },
                               [this](ringrt_status_t, const char *) { failed_ = true; });
    } catch (const std::system_error &) {  // no thread: finish() hashes everything
    }
}

std::vector<uint64_t> Hasher::finish() {
    close();
    run();
    if (thread_.joinable()) thread_.join();
    std::vector<uint64_t> hashes;
    hashes.reserve(pieces_.size());
    for (const Piece &piece : pieces_) hashes.push_back(failed_ ? hash64(piece.bytes) : piece.hash);
    return hashes;
}

void Hasher::close() {
    {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
    }
    changed_.notify_one();
}

void Hasher::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return claimed_ < pieces_.size() || closed_; });
        if (claimed_ == pieces_.size()) return;
        Piece &piece = pieces_[claimed_++];
        lock.unlock();
        piece.hash = hash64(piece.bytes);
        lock.lock();
    }
}

}  // namespace ringrt::checkpoint
