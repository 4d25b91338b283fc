// SPDX-License-Identifier: BSD-3-Clause
// The step boundary of jobs whose ranks join and leave (doc/live.md).
#include "libringrt/job/step.h"

namespace ringrt {

// An extension always leaves on SIGTERM.
Status StepBoundary::catch_sigterm() {
    return resizer_ && resizer_->is_extension() ? Status{} : job_.slurm().catch_sigterm();
}

// With a resizer each rank's vote about it is needed as well.
Status StepBoundary::agree(uint64_t step, job::StepFlags &agreed, std::vector<live::Vote> &votes) {
    job::StepFlags mine = job_.wishes();
    mine.written = saver_.under_way() && saver_.written();
    if (!resizer_) return job_.agree(step, mine, agreed);
    const bool first_save = needs_first_save();
    mine.save_due = mine.save_due || (first_save && !tried_first_save_);
    tried_first_save_ = tried_first_save_ || first_save;
    const bool extends = resizer_->is_extension();
    if (extends) mine.asked = false;
    struct LiveVote {
        job::StepVote step;
        live::Vote live;
    };
    // Extensions end before a requeue. None joins where a save begins: it would not take part.
    job::StepVote vote(step, mine, leads());
    const LiveVote own{
        .step = vote,
        .live = resizer_->vote(step, extends ? asked_to_leave() : mine.asked && !mine.cut_off,
                               saver_.under_way() || mine.save_due || mine.asked || first_save)};
    std::vector<LiveVote> all;
    RINGRT_TRY(gather(group_, own, all));
    for (const LiveVote &each : all) {
        vote.add(each.step);
        votes.push_back(each.live);
    }
    return job_.judge(vote, step, agreed);
}

Status StepBoundary::resize(const std::vector<live::Vote> &votes, ringrt_action_t &action) {
    const int before = group_.size();
    if (saver_.under_way() && resizer_->narrows(votes) && !end_save().ok()) saver_.abandon();
    live::Position position = this->position();
    bool left = false;
    Status outcome = resizer_->voted(votes, position, &left);
    if (left) action = RINGRT_LEAVE;
    if (!outcome.ok() || left || group_.size() == before) return outcome;
    go_to(position);
    job_.log(format_text("resized in place at step %llu: %d ranks (were %d)",
                         static_cast<unsigned long long>(job_.step()), group_.size(), before));
    return {};
}

// On rank 0. Lost ranks take their rows with them, so no rank joins before there is a checkpoint.
bool StepBoundary::needs_first_save() {
    return resizer_ && resizer_->has_rows() && leads() && job_.saved_step() < 0;
}

// Collective over the present communicator. The ranks' rows are gone, or of another size.
Status StepBoundary::load_rows_again(uint64_t &step) {
    Status placed = resizer_->place_rows();
    if (resizer_->has_program() && !program_)
        placed = {RINGRT_PEER_LOST,
                  "a lost rank had rows, and checkpoints hold no state of ringrt_set_live_state() "
                  "without ringrt_set_saver()"};
    RINGRT_TRY(ringrt::agree(group_, placed));
    job_.log("a lost rank had rows: going back to the newest checkpoint");
    Status loaded = load(step);
    if (loaded.code == RINGRT_NOT_FOUND)
        return {RINGRT_PEER_LOST, "a lost rank had rows, and there is no checkpoint of them"};
    RINGRT_TRY(std::move(loaded));
    resizer_->rows_loaded();
    job_.progress().resized(group_.size());
    return {};
}

// After a loss, or in an extension that has not joined yet. Nothing is read from disk, unless lost
// ranks had rows.
Status StepBoundary::recover(uint64_t &step) {
    saver_.abandon();
    const char *lost =
        resizer_->is_shrinking() ? "a rank on a leaving node was lost" : "an extension was lost";
    live::Position position = this->position();
    for (;;) {
        RINGRT_TRY(resizer_->recover(position));
        if (!resizer_->has_lost_rows()) break;
        Status loaded = load_rows_again(step);
        const bool again = resizer_->has_failed() && resizer_->must_recover();
        if (loaded.ok() || !again) return loaded;
    }
    const uint64_t before = job_.step();
    go_to(position);
    step = job_.step();
    job_.begin_step();
    std::string line = format_text("%s: continuing from step %llu with %d ranks", lost,
                                   static_cast<unsigned long long>(step), group_.size());
    if (step < before)
        line += format_text(": a copy, %llu steps back",
                            static_cast<unsigned long long>(before - step));
    job_.log(line);
    return {};
}

void StepBoundary::add_to(records::Telemetry &out) const {
    out.live = settings_.extendable;
    const job::Channel *const channel = job_.slurm().channel();
    const bool can_be_told = channel && channel->is_there();
    if (resizer_ && can_be_told && !settings_.ends_with_first_task) out.nodes = resizer_->nodes();
    if (gradients_.add_planned) gradients_.add_planned(out);
}

live::Position StepBoundary::position() const {
    return {.step = job_.step(),
            .samples = progress().samples(),
            .batch = progress().batch().global_batch};
}

void StepBoundary::go_to(const live::Position &position) {
    job_.go_to(position.step, position.samples, position.batch);
}

uint64_t StepBoundary::layout_hash() const {
    const BatchRule &batch = settings_.batch;
    return checkpoint::hash_text(
        format_text("%llu %llu %u %u %u %d %d",
                    static_cast<unsigned long long>(checkpoint::parameters_hash(buffers_)),
                    static_cast<unsigned long long>(settings_.seed), batch.reference_batch,
                    batch.reference_size, batch.micro_batch_max, static_cast<int>(batch.rule),
                    static_cast<int>(resizer_ && resizer_->has_program())) +
        (gradients_.layout ? gradients_.layout() : ""));
}

bool StepBoundary::finish_resizing() {
    resizer_->finish(position());
    return !resizer_->is_extension() && !resizer_->is_released();
}

}  // namespace ringrt
