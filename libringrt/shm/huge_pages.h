// SPDX-License-Identifier: BSD-3-Clause
// Huge pages for large ordinary buffers that are used repeatedly: with 4 KiB pages a core that
// streams through memory spends up to half of its time on address translation. Only the mapping of
// the memory changes, not its contents. If the kernel does not support it (or RINGRT_HUGE_PAGES=0)
// nothing happens.
#pragma once

#include <cstddef>
#include <vector>

namespace ringrt {

class HugePages {
  public:
    HugePages();
    // Counts a use of the buffer. On the third use it requests huge pages for the whole huge pages
    // within.
    void note(const void *buffer, size_t bytes);

  private:
    struct Known {
        const void *buffer;
        size_t bytes;
        int times;
    };
    bool wanted_;
    size_t next_ = 0;           // entry to replace next
    std::vector<Known> known_;  // the most recent buffers
};

}  // namespace ringrt
