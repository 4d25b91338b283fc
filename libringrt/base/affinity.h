// SPDX-License-Identifier: BSD-3-Clause
// Where the library's own threads run.
#pragma once

namespace ringrt {

// The calling thread, one that works on the memory of a thread on core `cpu`, stays on those of its
// cores that share a cache (else a memory node) with it, if that leaves it at least one beside that
// one. Changes nothing where hwloc is not built in or does not know, or cpu is negative. True if it
// bound the thread.
bool stay_near(int cpu);

}  // namespace ringrt
