// SPDX-License-Identifier: BSD-3-Clause
// The program's hook before a save (ringrt_checkpoint_set_before_save()).
#pragma once

#include <cstddef>
#include <cstdint>

#include "libringrt/base/group.h"

namespace ringrt::checkpoint {

// The arguments of ringrt_checkpoint_set_before_save(); call nullptr: this rank has no hook.
struct BeforeSave {
    int (*call)(void *context, uint64_t step, char *error, size_t error_bytes) = nullptr;
    void *context = nullptr;
};

// Collective, also for ranks without a hook. The ranks agree on the step, then each calls its hook.
// MISMATCH if they are at different steps: no hook was called. CHECKPOINT_FAILED if one failed.
Status run_before_save(Group &group, const BeforeSave &hook, uint64_t step);

}  // namespace ringrt::checkpoint
