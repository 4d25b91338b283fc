// SPDX-License-Identifier: BSD-3-Clause
// A set of gradient ids with quick access to the lowest, which is the most urgent.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringrt::bucketing {

class IdSet {
  public:
    explicit IdSet(size_t ids) : words_(ids / 64 + 1) {}

    void insert(uint32_t id) {
        size_ += (words_[id / 64] >> id % 64 & 1) == 0;
        words_[id / 64] |= uint64_t{1} << id % 64;
        if (id / 64 < first_) first_ = id / 64;
    }
    void erase(uint32_t id) {
        size_ -= words_[id / 64] >> id % 64 & 1;
        words_[id / 64] &= ~(uint64_t{1} << id % 64);
    }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    // The set must not be empty.
    [[nodiscard]] uint32_t lowest() {
        while (words_[first_] == 0) ++first_;
        return static_cast<uint32_t>(first_ * 64 +
                                     static_cast<size_t>(std::countr_zero(words_[first_])));
    }

  private:
    std::vector<uint64_t> words_;
    size_t first_ = 0;  // all words before it are 0
    size_t size_ = 0;
};

}  // namespace ringrt::bucketing
