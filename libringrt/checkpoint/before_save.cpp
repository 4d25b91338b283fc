// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/before_save.h"

#include "libringrt/checkpoint/program_files.h"
#include "libringrt/checkpoint/save.h"

namespace ringrt::checkpoint {

Status run_before_save(Group &group, const BeforeSave &hook, uint64_t step) {
    struct Vote {
        uint64_t step;
        uint64_t has_hook;
    };
    std::vector<Vote> all;
    RINGRT_TRY(gather(group, Vote{step, hook.call != nullptr}, all));
    bool any = false;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        RINGRT_TRY(same_step(rank, all[rank].step, all[0].step));
        any |= all[rank].has_hook != 0;
    }
    if (!any) return {};
    Status mine;
    std::string why;
    const auto call = [&](char *error, size_t bytes) {
        return hook.call(hook.context, step, error, bytes);
    };
    if (hook.call && !run_callback(call, why))
        mine = {RINGRT_CHECKPOINT_FAILED,
                format_text("checkpoint failed: before_save of rank %d: ", group.rank()) + why};
    return agree(group, mine);
}

}  // namespace ringrt::checkpoint
