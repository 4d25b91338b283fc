// SPDX-License-Identifier: BSD-3-Clause
// hash64 of many pieces on a thread of its own, while the caller reads or writes on. Where no core
// is free, or no thread is to be had, the caller hashes at the end what is left.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace ringrt::checkpoint {

class Hasher {
  public:
    explicit Hasher(size_t pieces_max) { pieces_.reserve(pieces_max); }
    ~Hasher();  // what was not begun is dropped
    Hasher(const Hasher &) = delete;
    Hasher &operator=(const Hasher &) = delete;

    // The bytes must stay as they are until finish(), or the destructor.
    void add(std::span<const std::byte> bytes);
    // Once: the hashes, in the order of add().
    [[nodiscard]] std::vector<uint64_t> finish();

  private:
    struct Piece {
        std::span<const std::byte> bytes;
        uint64_t hash = 0;
    };

    void run();
    void close();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Piece> pieces_;  // never moved: reserved
    size_t claimed_ = 0;         // of them, from the front
    bool closed_ = false;        // no more will be added
    bool failed_ = false;        // the thread threw: what it hashed is not to be trusted
    std::thread thread_;         // from the second piece on
};

}  // namespace ringrt::checkpoint
