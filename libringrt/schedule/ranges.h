// SPDX-License-Identifier: BSD-3-Clause
// Ranges: several memory ranges that form one buffer, so that a collective can send and receive in
// place. PURE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace ringrt {

class Ranges {
  public:
    // Appends a range. Merges it with the last one if they are adjacent.
    void add(std::byte *data, size_t bytes) {
        if (bytes == 0) return;
        if (!ranges_.empty() && ranges_.back().data() + ranges_.back().size() == data) {
            ranges_.back() = {ranges_.back().data(), ranges_.back().size() + bytes};
        } else {
            ranges_.emplace_back(data, bytes);
            starts_.push_back(bytes_);
        }
        bytes_ += bytes;
    }

    void clear() {
        ranges_.clear();
        starts_.clear();
        bytes_ = 0;
    }

    [[nodiscard]] size_t bytes() const { return bytes_; }
    [[nodiscard]] size_t number() const { return ranges_.size(); }

    // Calls use(data, bytes, passed) for each contiguous stretch of [first, first + bytes), which
    // must be within the buffer; `passed` is the number of bytes before that stretch.
    template <class Use>
    void each(size_t first, size_t bytes, Use use) const {
        if (bytes == 0) return;
        const auto after = std::upper_bound(starts_.begin(), starts_.end(), first);
        auto at = static_cast<size_t>(after - starts_.begin()) - 1;
        for (size_t passed = 0; passed < bytes; ++at) {
            const std::span<std::byte> rest = ranges_[at].subspan(first + passed - starts_[at]);
            const size_t part = std::min(rest.size(), bytes - passed);
            use(rest.data(), part, passed);
            passed += part;
        }
    }

  private:
    std::vector<std::span<std::byte>> ranges_;
    std::vector<size_t> starts_;  // offset of each range
    size_t bytes_ = 0;
};

}  // namespace ringrt
