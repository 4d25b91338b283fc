// SPDX-License-Identifier: BSD-3-Clause
// Counts the scheduler's signal, and SIGTERM while Slurm's reaction is awaited. Handlers only
// count.
#pragma once

#include <signal.h>

#include <cstdint>

#include "libringrt/base/status.h"

namespace ringrt {

// Counts arrivals of one signal during its lifetime. It also calls the handler that the program
// installed earlier. The destructor restores that handler, unless the program has installed
// another.
class SignalCounter {
  public:
    SignalCounter() = default;
    ~SignalCounter() { stop(); }
    SignalCounter(const SignalCounter &) = delete;
    SignalCounter &operator=(const SignalCounter &) = delete;

    // SYSTEM_ERROR if the signal cannot be caught.
    Status start(int signal);
    void stop();
    // Applies the signal's earlier disposition: by default it ends the process. A program's handler
    // has already been called.
    void pass_on() const;
    // Arrivals since start().
    [[nodiscard]] uint32_t count() const;

  private:
    int signal_ = 0;
    uint32_t before_ = 0;
};

}  // namespace ringrt
