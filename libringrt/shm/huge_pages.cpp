// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/shm/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace ringrt {
namespace {

constexpr uintptr_t kHugePage = 2 << 20;
constexpr size_t kSmallest = 2 * kHugePage;  // contains at least one whole huge page
constexpr size_t kKnown = 64;
constexpr int kTimes = 3;
constexpr int kCollapse = 25;  // MADV_COLLAPSE, Linux 6.1; missing in older headers

void ask_for(const void *buffer, size_t bytes) {
    auto first = (reinterpret_cast<uintptr_t>(buffer) + kHugePage - 1) / kHugePage * kHugePage;
    auto end = (reinterpret_cast<uintptr_t>(buffer) + bytes) / kHugePage * kHugePage;
    if (end <= first) return;
    auto *whole = reinterpret_cast<void *>(first);
    if (madvise(whole, end - first, MADV_HUGEPAGE) != 0) return;  // e.g. not built into the kernel
    (void)madvise(whole, end - first, kCollapse);                 // else later, in the background
}

}  // namespace

HugePages::HugePages() {
    const char *requested = getenv("RINGRT_HUGE_PAGES");
    wanted_ = requested == nullptr || std::string_view(requested) != "0";
}

void HugePages::note(const void *buffer, size_t bytes) {
    if (!wanted_ || bytes < kSmallest) return;
    auto same = [&](const Known &each) { return each.buffer == buffer && each.bytes == bytes; };
    auto known = std::find_if(known_.begin(), known_.end(), same);
    if (known != known_.end()) {
        if (known->times < kTimes && ++known->times == kTimes) ask_for(buffer, bytes);
        return;
    }
    Known fresh{.buffer = buffer, .bytes = bytes, .times = 1};
    if (known_.size() < kKnown) {
        known_.push_back(fresh);
    } else {
        known_[next_++ % kKnown] = fresh;
    }
}

}  // namespace ringrt
