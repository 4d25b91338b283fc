// SPDX-License-Identifier: BSD-3-Clause
// The same training where ranks come and go while it runs (doc/live.md). A turn of the loop is a
// whole step: nothing is under way between two, and each has a share of the batch of its own.
#include "digits_training.h"

namespace digits {

ringrt_action_t Training::train_step() {
    start_batch();
    forward();
    backward();
    for (std::size_t layer = 0; layer < model_.layers(); ++layer) update(layer);
    return end_step();
}

// An extension that is gone costs no step: on from the newest that one of the others finished,
// which may be one that this rank did not.
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
