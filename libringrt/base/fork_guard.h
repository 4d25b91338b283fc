// SPDX-License-Identifier: BSD-3-Clause
// Is this still the process that made the object? Asked in every call, so without a system call:
// of a page that the kernel clears in a forked child.
#pragma once

#include <sys/types.h>

namespace ringrt {

class ForkGuard {
  public:
    ForkGuard();
    ~ForkGuard();
    ForkGuard(const ForkGuard &) = delete;
    ForkGuard &operator=(const ForkGuard &) = delete;

    [[nodiscard]] bool in_child() const;

  private:
    pid_t pid_;
    volatile char *page_ = nullptr;  // null where the kernel cannot do that (before 4.14)
};

}  // namespace ringrt
