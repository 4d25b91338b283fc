// SPDX-License-Identifier: BSD-3-Clause
// The same training with ranks that join and leave while it runs (doc/live.md). Each iteration is a
// whole step: nothing is under way between two, and each has its own share of the batch. The first
// wait() returns when all sums of the step are there, so each rank updates all layers or none.
#include "digits_training.h"

namespace digits {

ringrt_action_t Training::train_step() {
    start_batch();
    forward();
    backward();
    for (std::size_t layer = 0; layer < model_.layers(); ++layer) {
        wait(layer);
        update(layer);
    }
    wait(model_.layers());
    return end_step();
}

// Losing an extension costs no step: training continues from the newest step that another rank
// finished, even if this rank did not finish it.
bool Training::run_in_place() {
    while (samples_left() > 0) {
        try {
            if (train_step() == RINGRT_LEAVE) return false;
        } catch (const RingrtError &error) {
            if (error.status != RINGRT_PEER_LOST) throw;
            summing_ = 0;
            const uint64_t mine = step_;
            restore();
            if (step_ > mine) log_step();
        }
    }
    return true;
}

}  // namespace digits
