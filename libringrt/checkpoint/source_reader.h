// SPDX-License-Identifier: BSD-3-Clause
// Brings what a rank writes into host memory. Bytes already there form one window. A device's bytes
// come in windows of one staging half; the next is copied while the caller uses this one.
#pragma once

#include <span>
#include <vector>

#include "libringrt/checkpoint/staging.h"

namespace ringrt::checkpoint {

// A piece and the address of its bytes.
struct Source {
    Piece piece;
    const std::byte *bytes = nullptr;
    // Set: the bytes are in this buffer's device memory, which the host cannot read.
    const Buffer *on_device = nullptr;
};

// Sources [first, first + count).
struct Window {
    size_t first = 0, count = 0;

    bool operator==(const Window &) const = default;
};

// In order; each window has one kind of memory. A device window has at most `half_bytes`, or a
// single piece.
[[nodiscard]] std::vector<Window> windows_of(std::span<const Source> sources, size_t half_bytes);

class SourceReader {
  public:
    explicit SourceReader(std::span<const Source> sources);

    // The next window's sources, in host memory until the next call; empty: no more.
    Status next(std::vector<Source> &out);

  private:
    [[nodiscard]] bool on_device(size_t window) const {
        return window < windows_.size() && sources_[windows_[window].first].on_device;
    }
    Status start(size_t window);

    std::span<const Source> sources_;
    uint64_t largest_ = 0;  // largest device piece
    std::vector<Window> windows_;
    size_t next_ = 0;
    bool started_ = false;  // the copy of window next_
    Staging staging_;
};

}  // namespace ringrt::checkpoint
