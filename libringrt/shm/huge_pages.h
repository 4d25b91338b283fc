// SPDX-License-Identifier: BSD-3-Clause
// Huge pages for large ordinary buffers that come again and again: with pages of 4 KiB a core that
// streams through memory spends up to half of its time on looking up addresses. Only how the memory
// is mapped changes, not what it holds; where the kernel cannot (or RINGRT_HUGE_PAGES=0) nothing
// happens.
#pragma once

#include <cstddef>
#include <vector>

namespace ringrt {

class HugePages {
  public:
    HugePages();
    // The buffer is used once more. The third time its whole huge pages are asked for.
    void note(const void *buffer, size_t bytes);

  private:
    struct Known {
        const void *buffer;
        size_t bytes;
        int times;
    };
    bool wanted_;
    size_t next_ = 0;           // to be forgotten
    std::vector<Known> known_;  // the last ones
};

}  // namespace ringrt
