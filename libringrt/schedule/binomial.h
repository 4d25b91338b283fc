// SPDX-License-Identifier: BSD-3-Clause
// The binomial tree over places 0 to size-1, with its root at place 0. PURE. The subtree of a place
// is a run of places. Parent and child are a power of two apart, like the peers of a dissemination.
#pragma once

#include <bit>

namespace ringrt {

class Binomial {
  public:
    Binomial(int place, int size)
        : place_(place),
          size_(size),
          span_(place == 0 ? int(std::bit_ceil(unsigned(size))) : place & -place) {}

    [[nodiscard]] bool is_root() const { return place_ == 0; }
    [[nodiscard]] int parent() const { return place_ - span_; }
    [[nodiscard]] int end() const { return end_of(place_, span_); }  // of its subtree
    // Calls use(child, end of the child's subtree), the largest subtree first.
    template <class Use>
    void each_child(Use use) const {
        for (int d = span_ / 2; d >= 1; d /= 2)
            if (place_ + d < size_) use(place_ + d, end_of(place_ + d, d));
    }

  private:
    [[nodiscard]] int end_of(int place, int span) const {
        return place + span < size_ ? place + span : size_;
    }
    int place_, size_, span_;
};

}  // namespace ringrt
