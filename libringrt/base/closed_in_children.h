// SPDX-License-Identifier: BSD-3-Clause
// Connections that a forked child must not keep: a data loader's worker that outlives its rank
// would hold them open, and no peer would detect the rank's death. (CLOEXEC covers exec.)
#pragma once

#include <vector>

namespace ringrt {

// During its lifetime each forked child closes these descriptors before it continues.
class ClosedInChildren {
  public:
    explicit ClosedInChildren(std::vector<int> fds);
    void add(int fd);  // it stays open as long as this object
    ~ClosedInChildren();
    ClosedInChildren(const ClosedInChildren &) = delete;
    ClosedInChildren &operator=(const ClosedInChildren &) = delete;

  private:
    static void close_all();

    std::vector<int> fds_;
};

}  // namespace ringrt
