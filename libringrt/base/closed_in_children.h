// SPDX-License-Identifier: BSD-3-Clause
// Connections that a forked child must not keep: a data loader's worker that outlives its rank
// would hold them open, and no peer would see that the rank has died. (What is exec'd loses them by
// CLOEXEC.)
#pragma once

#include <vector>

namespace ringrt {

// For as long as it lives, each forked child closes these descriptors before it goes on.
class ClosedInChildren {
  public:
    explicit ClosedInChildren(std::vector<int> fds);
    ~ClosedInChildren();
    ClosedInChildren(const ClosedInChildren &) = delete;
    ClosedInChildren &operator=(const ClosedInChildren &) = delete;

  private:
    static void close_all();

    const std::vector<int> fds_;
};

}  // namespace ringrt
