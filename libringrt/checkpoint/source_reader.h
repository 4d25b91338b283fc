// SPDX-License-Identifier: BSD-3-Clause
// Brings what a rank writes into the host's memory: what is there already all at once, a device's
// in windows of a staging's half, of which the next one is copied while the caller uses this one.
#pragma once

#include <span>
#include <vector>

#include "libringrt/checkpoint/staging.h"

namespace ringrt::checkpoint {

// A piece and where its bytes are in memory.
struct Source {
    Piece piece;
    const std::byte *bytes = nullptr;
    const Buffer *on_device =
        nullptr;  // set: they are in this buffer's, which the host cannot read
};

// Sources [first, first + count) of a row.
struct Window {
    size_t first = 0, count = 0;

    bool operator==(const Window &) const = default;
};

// In order, all of one kind each; those of a device have at most `half_bytes` together, or are one.
[[nodiscard]] std::vector<Window> windows_of(std::span<const Source> sources, size_t half_bytes);

class SourceReader {
  public:
    explicit SourceReader(std::span<const Source> sources);

    // The next window's, in the host's memory until the next call; none: that was all.
    Status next(std::vector<Source> &out);

  private:
    [[nodiscard]] bool on_device(size_t window) const {
        return window < windows_.size() && sources_[windows_[window].first].on_device;
    }
    Status start(size_t window);

    std::span<const Source> sources_;
    uint64_t largest_ = 0;  // of the device's
    std::vector<Window> windows_;
    size_t next_ = 0;
    bool started_ = false;  // the copy of the window next_
    Staging staging_;
};

}  // namespace ringrt::checkpoint
