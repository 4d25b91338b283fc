// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap over connections of this library: a star, or a tree of ranks (bootstrap.h).
#pragma once

#include <vector>

#include "libringrt/base/socket.h"
#include "libringrt/bootstrap/bootstrap.h"

namespace ringrt {

class RankTree : public Bootstrap {
  public:
    RankTree(const RankContext &self, Deadline *deadline) : self_(self), deadline_(deadline) {}
    // Rank 0: waits for all others at `listener`.
    Status open_as_hub(Fd listener, const Secret &secret);
    // The others: `hub` is an authenticated connection to rank 0.
    Status open_as_member(Fd hub, const Secret &secret);
    Status spread(std::span<const std::byte> mine, const Merge &merge,
                  std::vector<std::byte> *merged) override;

  private:
    struct Child {
        int rank;
        Fd fd;
    };
    Status accept_all(Fd listener, const std::vector<int> &ranks, std::vector<Child> *out);
    Status refer_members();
    Status join_parent(Fd hub);

    const RankContext &self_;
    Deadline *deadline_;
    int parent_rank_ = 0;
    Fd parent_;                    // at all ranks but 0
    std::vector<Child> children_;  // in rank order
};

}  // namespace ringrt
