// SPDX-License-Identifier: BSD-3-Clause
// The sizes that a malleable job may have: MIN, 2·MIN, 4·MIN, … up to MAX GPUs.
#pragma once

#include <algorithm>
#include <bit>

namespace ringrt::model {

struct Ladder {
    int min = 1, max = 1;  // GPUs; max need not be a size itself

    [[nodiscard]] bool contains(int gpus) const {
        return min >= 1 && gpus >= min && gpus <= max && gpus % min == 0 &&
               std::has_single_bit(static_cast<unsigned>(gpus / min));
    }
    // The number of doublings from MIN to the largest size of at most `gpus` GPUs, ignoring MAX;
    // -1: MIN is larger, or there is no size at all.
    [[nodiscard]] int level(int gpus) const {
        return min < 1 || gpus < min ? -1 : std::bit_width(static_cast<unsigned>(gpus / min)) - 1;
    }
    // The largest size of at most `most` GPUs; 0: MIN is larger.
    [[nodiscard]] int floor(int most) const {
        const int doublings = level(std::min(most, max));
        return doublings < 0 ? 0 : min << doublings;
    }
    // The smallest size above `gpus`; 0: there is none.
    [[nodiscard]] int next(int gpus) const {
        if (gpus < min) return min <= max ? min : 0;
        const int size = floor(gpus);
        return size > max / 2 ? 0 : 2 * size;
    }

    struct Sizes {  // for (const int gpus : ladder.sizes())
        struct Iterator {
            int gpus, max;
            int operator*() const { return gpus; }
            Iterator &operator++() { return gpus = gpus > max / 2 ? 0 : 2 * gpus, *this; }
            bool operator==(const Iterator &o) const { return gpus == o.gpus; }
        };
        int min, max;
        [[nodiscard]] Iterator begin() const { return {min <= max ? min : 0, max}; }
        [[nodiscard]] Iterator end() const { return {0, max}; }
    };
    [[nodiscard]] Sizes sizes() const { return {min, max}; }
};

}  // namespace ringrt::model
