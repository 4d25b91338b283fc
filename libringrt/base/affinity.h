// SPDX-License-Identifier: BSD-3-Clause
// CPU affinity of the library's own threads.
#pragma once

namespace ringrt {

// For a thread that works on the memory of a thread on core `cpu`: binds the calling thread to
// those of its cores that share a cache (or else a memory node) with `cpu`, if at least one other
// core remains. Does nothing if hwloc is not built in or lacks the information, or `cpu` is
// negative. Returns true if it bound the thread.
bool stay_near(int cpu);

}  // namespace ringrt
