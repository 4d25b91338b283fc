// SPDX-License-Identifier: BSD-3-Clause
// One rank of one implementation under measurement.
#pragma once

#include <cstddef>

namespace ringrt::bench {

// An implementation to measure: in-place fp32 sums.
class Backend {
  public:
    virtual ~Backend() = default;
    virtual int rank() const = 0;
    virtual bool allreduce(float *data, size_t count) = 0;
    virtual void barrier() = 0;
    virtual float *alloc(size_t bytes, bool shared) = 0;
    virtual void free(float *data, bool shared) = 0;
};

// Pins this rank to a core, connects to $RINGBENCH_SOCKET and serves until Task::Quit. Returns the
// exit status for main().
int serve(Backend &contestant);

}  // namespace ringrt::bench
