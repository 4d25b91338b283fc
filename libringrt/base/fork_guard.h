// SPDX-License-Identifier: BSD-3-Clause
// Detects whether this is still the process that created the object. Every call checks it, so it
// avoids a system call and reads a page that the kernel clears in a forked child.
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
    volatile char *page_ = nullptr;  // null if the kernel lacks this (before 4.14)
};

}  // namespace ringrt
