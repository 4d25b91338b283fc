// SPDX-License-Identifier: BSD-3-Clause
// Computes hash64 of many pieces on its own thread while the caller reads or writes. If no core is
// free or no thread can be created, finish() hashes the remaining pieces.
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
    ~Hasher();  // drops the pieces not yet begun
    Hasher(const Hasher &) = delete;
    Hasher &operator=(const Hasher &) = delete;

    // The bytes must stay unchanged until finish() or the destructor.
    void add(std::span<const std::byte> bytes);
    // Call once. Returns the hashes in the order of add().
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
    std::vector<Piece> pieces_;  // reserved, so they never move
    size_t claimed_ = 0;         // number taken, from the front
    bool closed_ = false;        // no more pieces follow
    bool failed_ = false;        // the thread threw: its hashes are not used
    std::thread thread_;         // started at the second piece
};

}  // namespace ringrt::checkpoint
