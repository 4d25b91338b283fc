// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/fork_guard.h"

#include <sys/mman.h>
#include <unistd.h>

namespace ringrt {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

ForkGuard::ForkGuard() : pid_(getpid()) {
    void *page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, kPage, MADV_WIPEONFORK) != 0) {
        munmap(page, kPage);
        return;
    }
    page_ = static_cast<char *>(page);
    *page_ = 1;
}

ForkGuard::~ForkGuard() {
    if (page_ != nullptr) munmap(const_cast<char *>(page_), kPage);
}

bool ForkGuard::in_child() const { return page_ != nullptr ? *page_ == 0 : getpid() != pid_; }

}  // namespace ringrt
