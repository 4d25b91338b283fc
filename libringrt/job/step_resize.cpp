// SPDX-License-Identifier: BSD-3-Clause
// The saves and loads of a job whose ranks join and leave (live_step.h).
#include "libringrt/job/step.h"

namespace ringrt {

Status StepBoundary::agree(uint64_t step, job::StepFlags &agreed) {
    job::StepFlags mine = job_.wishes();
    mine.written = saver_.under_way() && saver_.written();
    const bool first_save = needs_first_save();
    mine.save_due = mine.save_due || (first_save && !tried_first_save_);
    tried_first_save_ = tried_first_save_ || first_save;
    return live_.agree(step, {.flags = mine, .hold = saver_.under_way() || first_save}, agreed);
}

Status StepBoundary::resize(job::LiveStep::Resized &out) {
    if (saver_.under_way() && live_.narrows() && !end_save().ok()) saver_.abandon();
    return live_.resize(out);
}

// On rank 0. Lost ranks take their rows with them, so no rank joins before there is a checkpoint.
bool StepBoundary::needs_first_save() {
    return resizer() && resizer()->has_rows() && leads() && job_.saved_step() < 0;
}

// Collective over the present communicator. The ranks' rows are gone, or of another size.
Status StepBoundary::load_rows_again(uint64_t &step) {
    Status placed = resizer()->place_rows();
    if (resizer()->has_program() && !program_)
        placed = {RINGRT_PEER_LOST,
                  "a lost rank had rows, and checkpoints hold no state of ringrt_set_live_state() "
                  "without ringrt_set_saver()"};
    RINGRT_TRY(ringrt::agree(group_, placed));
    job_.log("a lost rank had rows: going back to the newest checkpoint");
    Status loaded = load(step);
    if (loaded.code == RINGRT_NOT_FOUND)
        return {RINGRT_PEER_LOST, "a lost rank had rows, and there is no checkpoint of them"};
    RINGRT_TRY(std::move(loaded));
    resizer()->rows_loaded();
    job_.progress().resized(group_.size());
    return {};
}

// After a loss, or in an extension that has not joined yet. Nothing is read from disk, unless lost
// ranks had rows.
Status StepBoundary::recover(uint64_t &step) {
    saver_.abandon();
    const char *lost = live_.what_is_lost();
    live::Position position = live_.position();
    for (;;) {
        RINGRT_TRY(resizer()->recover(position));
        if (!resizer()->has_lost_rows()) break;
        Status loaded = load_rows_again(step);
        const bool again = resizer()->has_failed() && resizer()->must_recover();
        if (loaded.ok() || !again) return loaded;
    }
    live_.go_on_from(position, lost);
    step = job_.step();
    return {};
}

void StepBoundary::add_to(records::Telemetry &out) const {
    live_.add_to(out);
    if (gradients_.add_planned) gradients_.add_planned(out);
}

uint64_t StepBoundary::layout_hash() const {
    return live_.layout_hash(buffers_, gradients_.layout ? gradients_.layout() : "");
}

}  // namespace ringrt
