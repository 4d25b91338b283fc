// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/job.h"

#include "libringrt/base/clock.h"
#include "slurm_plugin/records/unix_time.h"

namespace ringrt::job {
namespace {

// The scheduler repeats its signal for a while; a resize that was called off is not retried at
// once.
constexpr double kIgnoreAfterCallOff_s = 30;

unsigned long long printable(uint64_t number) { return number; }

}  // namespace

Status Job::start() {
    std::string no_channel;
    RINGRT_TRY(slurm_.start(settings_, leads(), no_channel));
    if (!no_channel.empty()) log(no_channel);
    begin_step();
    put_off_save();
    if (leads() && (settings_.job != 0 || !settings_.telemetry_file.empty()))
        reporter_ = std::make_unique<Reporter>(
            ReporterOptions{.job = settings_.job_name,
                            .scontrol = settings_.scontrol,
                            .channel = slurm_.channel(),
                            .file = settings_.telemetry_file,
                            .interval_s = static_cast<double>(settings_.telemetry_s)});
    return {};
}

checkpoint::Meta Job::meta(uint64_t step) const {
    checkpoint::Meta out{.step = step, .seed = settings_.seed};
    progress_.add_to(out, leads());
    return out;
}

void Job::begin_step() { step_begun_s_ = monotonic_s(); }

void Job::end_step(uint64_t step) {
    if (first_step_end_s_ == 0) first_step_end_s_ = unix_now_s();
    if (step == timed_step_ + 1) progress_.timed((monotonic_s() - step_begun_s_) * 1e3);
    timed_step_ = step;
    advance(step);
}

void Job::advance(uint64_t step) {
    if (step <= step_) return;
    progress_.advance(step - step_);
    step_ = step;
}

StepFlags Job::wishes() {
    const double now_s = monotonic_s();
    const uint32_t arrivals = slurm_.requests();
    if (now_s < ignore_until_s_ && !slurm_.has_sigterm()) served_ = arrivals;
    return {.asked = arrivals != served_,
            .ended = slurm_.is_ended(now_s),
            .save_due = leads() && now_s >= next_save_s_,
            .cut_off = slurm_.is_cut_off()};
}

Status Job::agree(uint64_t step, const StepFlags &mine, StepFlags &agreed) {
    StepVote vote(step, mine, leads());
    RINGRT_TRY(group_.largest(vote.bytes()));
    return judge(vote, step, agreed);
}

Status Job::judge(const StepVote &vote, uint64_t step, StepFlags &agreed) {
    if (!vote.is_of_one_step()) return name_other_step(step);
    agreed = vote.flags();
    if (agreed.ended && !agreed.asked) {
        log(format_text("ended by SIGTERM after step %llu", printable(step)));
        slurm_.end_by_sigterm();
    }
    return {};
}

// Collective. The failure to report if the ranks are not at one step.
Status Job::name_other_step(uint64_t step) {
    std::vector<uint64_t> all;
    RINGRT_TRY(gather(group_, step, all));
    size_t rank = 0;
    while (rank + 1 < all.size() && all[rank] == all[0]) ++rank;
    return {RINGRT_MISMATCH,
            format_text("rank %zu is at step %llu, rank 0 at step %llu: call ringrt_step() on all "
                        "ranks after the same steps",
                        rank, printable(all[rank]), printable(all[0]))};
}

void Job::begin_leaving() {
    leaving_begun_s_ = monotonic_s();
    sigterm_ = std::make_unique<SignalCounter>();
    (void)sigterm_->start(SIGTERM);  // cannot fail for SIGTERM
}

Status Job::leave(const Status &saved, ringrt_action_t &action) {
    served_ = slurm_.requests();  // signals during the save asked for the same
    if (!saved.ok()) {
        if (!is_fatal(saved)) cancel_resize(saved.message);
        return saved;
    }
    const std::string line = format_text("signalled to save at step %llu: saved in %.2f s",
                                         printable(step_), monotonic_s() - leaving_begun_s_);
    if (settings_.job == 0) {
        cancel_resize(line + ", but this is not a Slurm job");
        return {};
    }
    if (reporter_) reporter_->report_soon();
    const RequeueOptions options{.job = settings_.job_name,
                                 .step = step_,
                                 .channel = slurm_.channel(),
                                 .sigterm_may_be_preemption = slurm_.detects_preemption(),
                                 .scontrol = settings_.scontrol,
                                 .leave_timeout_s = static_cast<double>(settings_.leave_timeout_s),
                                 .again_s = static_cast<double>(settings_.requeue_again_s)};
    Departure departure = Departure::stay;
    std::string why;
    RINGRT_TRY(await_departure(group_, options, *sigterm_, departure, why));
    if (departure == Departure::stay) {
        cancel_resize(line + ", but " + why);
        return {};
    }
    log(line + (why.empty() ? ", requeued" : ", ended by SIGTERM"));
    action = RINGRT_LEAVE;
    return {};
}

void Job::stay_cut_off() {
    served_ = slurm_.requests();
    cancel_resize("signalled to save, but there is neither a channel to Slurm nor " +
                  settings_.scontrol + " in the job");
}

void Job::cancel_resize(const std::string &why) {
    sigterm_.reset();
    slurm_.forget_sigterm();
    ignore_until_s_ = monotonic_s() + kIgnoreAfterCallOff_s;
    log(why + format_text(": resize called off, training continues with %d GPUs", group_.size()));
}

void Job::put_off_save() { next_save_s_ = monotonic_s() + settings_.save_interval_s; }

void Job::saved(uint64_t step, double save_ms) {
    saved_step_ = static_cast<int64_t>(step);
    if (save_ms > 0) save_ms_ = save_ms;
    put_off_save();
}

void Job::restored(const checkpoint::Manifest &manifest, double load_s) {
    begin_step();
    put_off_save();
    step_ = timed_step_ = manifest.step;
    saved_step_ = static_cast<int64_t>(manifest.step);
    progress_.restore(manifest);
    std::string line = format_text("resumed from step %llu on %d GPUs (was %u)", printable(step_),
                                   group_.size(), manifest.ranks);
    if (load_s >= 0) line += format_text(", load %.2f s", load_s);
    log(line);
    if (manifest.seed != settings_.seed)
        log(format_text(
            "the checkpoint was made with seed %llu, this run has %llu: the order of samples "
            "differs",
            printable(manifest.seed), printable(settings_.seed)));
}

void Job::not_restored(const std::string &why) {
    begin_step();
    put_off_save();
    if (settings_.restart > 0)
        log(format_text("restart %u, but %s: if one was saved, it is in another directory",
                        static_cast<unsigned>(settings_.restart), why.c_str()));
}

void Job::go_to(uint64_t step, uint64_t samples, uint32_t global_batch) {
    step_ = timed_step_ = step;
    progress_.resized(group_.size());
    progress_.go_to(step, samples, global_batch);
}

void Job::report(uint64_t step, const std::function<void(records::Telemetry &)> &add) {
    if (!reporter_) return progress_.note_speed();
    // Fixed when first known: the controller notes each change in the job's record.
    if (began_s_ == 0 && first_step_end_s_ > 0 && progress_.step_s() > 0)
        began_s_ = first_step_end_s_ - progress_.step_s();
    records::Telemetry out{.run = static_cast<int>(settings_.restart),
                           .gpus = group_.size(),
                           .step = step,
                           .ckpt_step = saved_step_ < 0 ? 0 : static_cast<uint64_t>(saved_step_),
                           .save_ms = save_ms_,
                           .began_s = began_s_,
                           .up = true};
    if (add) add(out);
    progress_.add_to(out);
    reporter_->update(out);
}

void Job::log(const std::string &line) const {
    if (!leads()) return;
    log_line((settings_.job ? format_text("job %llu: ", printable(settings_.job)) : "") + line);
}

}  // namespace ringrt::job
