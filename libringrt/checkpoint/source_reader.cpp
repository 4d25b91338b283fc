// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/source_reader.h"

#include <algorithm>

namespace ringrt::checkpoint {

std::vector<Window> windows_of(std::span<const Source> sources, size_t half_bytes) {
    std::vector<Window> out;
    uint64_t bytes = 0;
    for (size_t i = 0; i < sources.size(); ++i) {
        const bool staged = sources[i].on_device != nullptr;
        const bool same = i > 0 && (sources[i - 1].on_device != nullptr) == staged;
        if (!same || (staged && bytes + sources[i].piece.bytes > half_bytes)) {
            out.push_back({i, 0});
            bytes = 0;
        }
        ++out.back().count;
        bytes += sources[i].piece.bytes;
    }
    return out;
}

SourceReader::SourceReader(std::span<const Source> sources) : sources_(sources) {
    const DeviceMemory *device = nullptr;
    for (const Source &source : sources_) {
        if (!source.on_device) continue;
        device = source.on_device->device;
        largest_ = std::max(largest_, source.piece.bytes);
    }
    windows_ = windows_of(sources_, device ? half_bytes_of(*device, largest_) : 0);
}

Status SourceReader::start(size_t window) {
    const auto sources = sources_.subspan(windows_[window].first, windows_[window].count);
    RINGRT_TRY(staging_.open(*sources.front().on_device, largest_));
    std::byte *at = staging_.half();
    for (const Source &source : sources) {
        RINGRT_TRY(staging_.start_copy(*source.on_device, at, source.bytes, source.piece.bytes));
        at += source.piece.bytes;
    }
    started_ = true;
    return {};
}

Status SourceReader::next(std::vector<Source> &out) {
    out.clear();
    if (next_ == windows_.size()) return {};
    const auto [first, count] = windows_[next_];
    out.assign(sources_.begin() + static_cast<std::ptrdiff_t>(first),
               sources_.begin() + static_cast<std::ptrdiff_t>(first + count));
    const size_t window = next_++;
    if (!on_device(window)) return {};
    if (!started_) RINGRT_TRY(start(window));
    started_ = false;
    RINGRT_TRY(staging_.wait());
    const std::byte *at = staging_.half();
    for (Source &source : out) {
        source.on_device = nullptr;
        source.bytes = at;
        at += source.piece.bytes;
    }
    staging_.flip();
    return on_device(next_) ? start(next_) : Status{};
}

}  // namespace ringrt::checkpoint
