// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/live_step.h"

namespace ringrt::job {

live::ResizerOptions LiveStep::resizer_options() const {
    return {.extension = settings_.is_extension,
            .job = settings_.job,
            .rank = settings_.rank,
            .size = settings_.size,
            .local_rank = settings_.local_rank,
            .directory = settings_.checkpoint_dir,
            .timeout_ms = settings_.timeout_ms,
            .start_timeout_ms = settings_.start_timeout_ms,
            .node = records::node_checksum(node_label()),
            .keep = [this] { return job_.slurm().ranks_to_keep(); },
            .copy_steps = settings_.live_copy_steps,
            .save_inline = settings_.save_inline != 0};
}

Status LiveStep::start() {
    return resizer_ && resizer_->is_extension() ? sigterm_.start(SIGTERM) : Status{};
}

// An extension always leaves on SIGTERM.
Status LiveStep::catch_sigterm() {
    return resizer_ && resizer_->is_extension() ? Status{} : job_.slurm().catch_sigterm();
}

// With a resizer each rank's vote about it is needed as well. Extensions end before a requeue. None
// joins where a save begins: it would not take part.
Status LiveStep::agree(uint64_t step, const Wishes &mine, StepFlags &agreed) {
    if (!resizer_) return job_.agree(step, mine.flags, agreed);
    const bool extends = resizer_->is_extension();
    StepFlags flags = mine.flags;
    if (extends) flags.asked = false;
    const bool leaves = extends ? asked_to_leave() : flags.asked && !flags.cut_off;
    struct LiveVote {
        StepVote step;
        live::Vote live;
        uint32_t held;
    };
    StepVote vote(step, flags, job_.leads());
    const LiveVote own{.step = vote,
                       .live = resizer_->vote(step, leaves && !mine.stay,
                                              mine.hold || flags.save_due || flags.asked),
                       .held = leaves && mine.stay};
    std::vector<LiveVote> all;
    RINGRT_TRY(gather(group_, own, all));
    votes_.clear();
    held_ = false;
    for (const LiveVote &each : all) {
        vote.add(each.step);
        votes_.push_back(each.live);
        held_ = held_ || each.held != 0;
    }
    held_ = held_ && resizer_->has_extensions();
    return job_.judge(vote, step, agreed);
}

Status LiveStep::resize(Resized &out) {
    out = Resized::no;
    if (!resizer_) return {};
    const int before = group_.size();
    live::Position position = this->position();
    bool left = false;
    Status outcome = resizer_->voted(votes_, position, &left);
    if (left) out = Resized::left;
    if (!outcome.ok() || left || group_.size() == before) return outcome;
    out = Resized::yes;
    job_.go_to(position.step, position.samples, position.batch);
    job_.log(format_text("resized in place at step %llu: %d ranks (were %d)",
                         static_cast<unsigned long long>(job_.step()), group_.size(), before));
    return {};
}

const char *LiveStep::what_is_lost() const {
    return resizer_->is_shrinking() ? "a rank on a leaving node was lost" : "an extension was lost";
}

void LiveStep::go_on_from(const live::Position &position, const char *lost) {
    const uint64_t before = job_.step();
    job_.go_to(position.step, position.samples, position.batch);
    const uint64_t step = job_.step();
    job_.begin_step();
    std::string line = format_text("%s: continuing from step %llu with %d ranks", lost,
                                   static_cast<unsigned long long>(step), group_.size());
    if (step < before)
        line += format_text(": a copy, %llu steps back",
                            static_cast<unsigned long long>(before - step));
    job_.log(line);
}

live::Position LiveStep::position() const {
    const Progress &progress = job_.progress();
    return {
        .step = job_.step(), .samples = progress.samples(), .batch = progress.batch().global_batch};
}

bool LiveStep::finish() {
    resizer_->finish(position());
    return !resizer_->is_extension() && !resizer_->is_released();
}

void LiveStep::add_to(records::Telemetry &out) const {
    out.live = settings_.extendable;
    const Channel *const channel = job_.slurm().channel();
    const bool can_be_told = channel && channel->is_there();
    if (resizer_ && can_be_told && !settings_.ends_with_first_task) out.nodes = resizer_->nodes();
}

uint64_t LiveStep::layout_hash(const std::vector<checkpoint::Buffer> &buffers,
                               const std::string &other) const {
    const BatchRule &batch = settings_.batch;
    return checkpoint::hash_text(
        format_text("%llu %llu %u %u %u %d %d",
                    static_cast<unsigned long long>(checkpoint::parameters_hash(buffers)),
                    static_cast<unsigned long long>(settings_.seed), batch.reference_batch,
                    batch.reference_size, batch.micro_batch_max, static_cast<int>(batch.rule),
                    static_cast<int>(resizer_ && resizer_->has_program())) +
        other);
}

}  // namespace ringrt::job
