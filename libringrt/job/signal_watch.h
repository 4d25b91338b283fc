// SPDX-License-Identifier: BSD-3-Clause
// The scheduler's signal, and SIGTERM while Slurm is awaited. The handlers only count.
#pragma once

#include <signal.h>

#include <cstdint>

#include "libringrt/base/status.h"

namespace ringrt {

// Counts arrivals of one signal while it lives. A handler that the program had installed before is
// called as well; on destruction it is put back, unless the program has installed another since.
class SignalCounter {
  public:
    SignalCounter() = default;
    ~SignalCounter() { stop(); }
    SignalCounter(const SignalCounter &) = delete;
    SignalCounter &operator=(const SignalCounter &) = delete;

    // SYSTEM_ERROR where the signal cannot be caught.
    Status start(int signal);
    void stop();
    // As if nobody counted: by default the signal ends the process. A handler of the program's has
    // been called already.
    void pass_on() const;
    // Arrivals since start().
    [[nodiscard]] uint32_t count() const;

  private:
    int signal_ = 0;
    uint32_t before_ = 0;
};

}  // namespace ringrt
