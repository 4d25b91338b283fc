// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/step.h"

#include <unistd.h>

#include <algorithm>

#include "libringrt/base/clock.h"
#include "slurm_plugin/records/unix_time.h"

namespace ringrt {
namespace {

using checkpoint::SaveMode;

// The scheduler repeats its signal for a while; a resize that was called off is not retried at
// once.
constexpr double kIgnoreAfterCallOff_s = 30;

checkpoint::LayoutOptions layout_options() { return {}; }

std::string host_name() {
    char name[256] = {};
    return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

StepBoundary::StepBoundary(const Settings &settings, Group &group, checkpoint::Fence fence,
                           const std::vector<checkpoint::Buffer> &buffers)
    : settings_(settings),
      group_(group),
      buffers_(buffers),
      store_(checkpoint::real_files(), settings.checkpoint_dir, fence, settings.keep_checkpoints),
      saver_(group, store_, layout_options()),
      local_(group, checkpoint::real_files(), settings.checkpoint_local, host_name(), fence,
             layout_options()),
      progress_(settings, group.size()) {}

Status StepBoundary::start() {
    std::string no_channel;
    if (Status started = slurm_.start(settings_, leads(), no_channel); !started.ok())
        return started;
    if (!no_channel.empty()) log(no_channel);
    const bool extends = resizer_ && resizer_->is_extension();
    if (extends)
        if (Status caught = extension_sigterm_.start(SIGTERM); !caught.ok()) return caught;
    if (!resizer_)
        if (Status joined = local_.join(); !joined.ok()) return joined;
    step_begun_s_ = monotonic_s();
    next_save_s_ = step_begun_s_ + settings_.save_interval_s;
    if (leads() && (settings_.job != 0 || !settings_.telemetry_file.empty()))
        reporter_ = std::make_unique<job::Reporter>(
            job::ReporterOptions{.job = settings_.job_name,
                                 .scontrol = settings_.scontrol,
                                 .channel = slurm_.channel(),
                                 .file = settings_.telemetry_file,
                                 .interval_s = static_cast<double>(settings_.telemetry_s)});
    return {};
}

Status StepBoundary::restore(uint64_t &step) {
    if (Status caught = catch_sigterm(); !caught.ok()) return caught;
    if (resizer_ && resizer_->must_recover()) return recover(step);
    // Otherwise the abandoned state would be committed later.
    if (Status finished = end_save(); is_fatal(finished)) return finished;
    const double begun_s = monotonic_s();
    checkpoint::Manifest manifest;
    if (Status loaded = load(step, manifest); !loaded.ok()) {
        if (loaded.code == RINGRT_NOT_FOUND) report(0);
        if (loaded.code == RINGRT_NOT_FOUND && settings_.restart > 0)
            log(format_text("restart %u, but %s: if one was saved, it is in another directory",
                            static_cast<unsigned>(settings_.restart), loaded.message.c_str()));
        return loaded;
    }
    restored_gradients_ = manifest.gradients;
    log(format_text("resumed from step %llu on %d GPUs (was %u), load %.2f s",
                    static_cast<unsigned long long>(step), group_.size(), manifest.ranks,
                    step_begun_s_ - begun_s));
    if (manifest.seed != settings_.seed)
        log(format_text(
            "the checkpoint was made with seed %llu, this run has %llu: the order of samples "
            "differs",
            static_cast<unsigned long long>(manifest.seed),
            static_cast<unsigned long long>(settings_.seed)));
    report(step);
    return {};
}

// Collective. The newest checkpoint, into the registered buffers and the program.
Status StepBoundary::load(uint64_t &step, checkpoint::Manifest &manifest) {
    const FileWork work(group_);
    Status loaded = checkpoint::load_newest(group_, has_local() ? &local_ : nullptr, store_,
                                            buffers_, manifest);
    if (loaded.ok()) loaded = load_program_files(group_, program_, store_, manifest);
    step_begun_s_ = monotonic_s();
    next_save_s_ = step_begun_s_ + settings_.save_interval_s;
    RINGRT_TRY(loaded);
    step_ = timed_step_ = step = manifest.step;
    saved_step_ = static_cast<int64_t>(manifest.step);
    shared_step_ = has_local() ? -1 : saved_step_;  // the checkpoint may be from the nodes' disks
    progress_.restore(manifest);
    return {};
}

void StepBoundary::set_program(const checkpoint::ProgramSaver &program) {
    program_ = program;
    saver_.set_program(program);
}

Status StepBoundary::save(uint64_t step) {
    advance(step);
    if (Status finished = end_save(); is_fatal(finished)) return finished;
    return save_now(step, SaveMode::inline_write);
}

Status StepBoundary::finish() {
    Status finished = finish_save();
    reporter_.reset();
    return finished;
}

Status StepBoundary::step(uint64_t step, ringrt_action_t &action) {
    if (Status caught = catch_sigterm(); !caught.ok()) return caught;
    if (first_step_end_s_ == 0) first_step_end_s_ = unix_now_s();
    if (step == timed_step_ + 1) progress_.timed((monotonic_s() - step_begun_s_) * 1e3);
    timed_step_ = step;
    advance(step);
    job::StepFlags agreed;
    std::vector<live::Vote> votes;
    if (Status outcome = agree(step, agreed, votes); !outcome.ok()) return outcome;
    if (agreed.ended && !agreed.asked) {
        log(format_text("ended by SIGTERM after step %llu", static_cast<unsigned long long>(step)));
        slurm_.end_by_sigterm();
    }
    ringrt_action_t result = RINGRT_CONTINUE;
    if (resizer_) {
        if (Status resized = resize(votes, result); !resized.ok()) return resized;
        if (result == RINGRT_LEAVE) {
            action = result;
            return {};
        }
    }
    Status outcome;
    if (saver_.under_way() && (agreed.written || agreed.asked)) outcome = end_save();
    if (!is_fatal(outcome) && agreed.asked && agreed.cut_off)
        stay_cut_off();
    else if (!is_fatal(outcome) && agreed.asked)
        outcome = leave(step, result);
    else if (!is_fatal(outcome) && agreed.save_due)
        outcome = periodic_save(step);
    if (is_fatal(outcome)) return outcome;
    report(step);
    step_begun_s_ = monotonic_s();
    action = result;
    return {};
}

void StepBoundary::advance(uint64_t step) {
    if (step <= step_) return;
    progress_.advance(step - step_);
    step_ = step;
}

// Starts a save; an inline save also ends here.
Status StepBoundary::save_now(uint64_t step, SaveMode mode) {
    const FileWork work(group_);
    save_begun_s_ = monotonic_s();
    saving_step_ = step;
    Status started = saver_.start(buffers_, meta(step), mode);
    if (!started.ok() || mode == SaveMode::in_background) return started;
    return finish_save();
}

Status StepBoundary::finish_save() {
    if (!saver_.under_way()) return {};
    const FileWork work(group_);
    Status finished = saver_.finish();
    if (!finished.ok()) return finished;
    const double now_s = monotonic_s();
    save_ms_ = (now_s - save_begun_s_) * 1e3;
    saved_step_ = shared_step_ = static_cast<int64_t>(saving_step_);
    next_save_s_ = now_s + settings_.save_interval_s;
    return {};
}

// Ends a save that began earlier. A failed save is only logged.
Status StepBoundary::end_save() {
    Status finished = finish_save();
    if (!finished.ok() && !is_fatal(finished)) log(finished.message + ": training continues");
    return finished;
}

Status StepBoundary::periodic_save(uint64_t step) {
    next_save_s_ = monotonic_s() + settings_.save_interval_s;  // even if it fails
    Status local = has_local() ? local_save(step) : Status{};
    if (is_fatal(local) || saver_.under_way()) return local;  // an earlier save still runs
    Status saved =
        save_now(step, settings_.save_inline ? SaveMode::inline_write : SaveMode::in_background);
    if (!saved.ok() && !is_fatal(saved)) log(saved.message + ": training continues");
    return saved;
}

// Saves to the nodes' own disks, before the shared save begins.
Status StepBoundary::local_save(uint64_t step) {
    const FileWork work(group_);
    Status saved = local_.save(buffers_, meta(step));
    if (saved.ok() || is_fatal(saved)) return saved;
    if (!said_no_local_)
        log("node-local checkpoint: " + saved.message + ": only the shared level is saved");
    said_no_local_ = true;
    return saved;
}

Status StepBoundary::leave(uint64_t step, ringrt_action_t &action) {
    const double begun_s = monotonic_s();
    sigterm_ = std::make_unique<SignalCounter>();
    Status ready = sigterm_->start(SIGTERM);  // cannot fail for SIGTERM
    if (shared_step_ != static_cast<int64_t>(step)) ready = save_now(step, SaveMode::inline_write);
    served_ = slurm_.requests();  // signals during the save asked for the same
    if (!ready.ok()) {
        if (!is_fatal(ready)) cancel_resize(ready.message);
        return ready;
    }
    const std::string saved =
        format_text("signalled to save at step %llu: saved in %.2f s",
                    static_cast<unsigned long long>(step), monotonic_s() - begun_s);
    if (settings_.job == 0) {
        cancel_resize(saved + ", but this is not a Slurm job");
        return {};
    }
    if (reporter_) reporter_->report_soon();
    const RequeueOptions options{.job = settings_.job_name,
                                 .step = step,
                                 .channel = slurm_.channel(),
                                 .sigterm_may_be_preemption = slurm_.detects_preemption(),
                                 .scontrol = settings_.scontrol,
                                 .leave_timeout_s = static_cast<double>(settings_.leave_timeout_s),
                                 .again_s = static_cast<double>(settings_.requeue_again_s)};
    Departure departure = Departure::stay;
    std::string why;
    Status waited = await_departure(group_, options, *sigterm_, departure, why);
    if (!waited.ok()) return waited;
    if (departure == Departure::stay) {
        cancel_resize(saved + ", but " + why);
        return {};
    }
    log(saved + (why.empty() ? ", requeued" : ", ended by SIGTERM"));
    action = RINGRT_LEAVE;
    return {};
}

// Decided before a save, which would otherwise cost training at every request.
void StepBoundary::stay_cut_off() {
    served_ = slurm_.requests();
    cancel_resize("signalled to save, but there is neither a channel to Slurm nor " +
                  settings_.scontrol + " in the job");
}

void StepBoundary::cancel_resize(const std::string &why) {
    sigterm_.reset();
    slurm_.forget_sigterm();
    ignore_until_s_ = monotonic_s() + kIgnoreAfterCallOff_s;
    log(why + format_text(": resize called off, training continues with %d GPUs", group_.size()));
}

// Training can continue after a failed save. After any other error the ranks cannot continue.
bool StepBoundary::is_fatal(const Status &outcome) const {
    return !outcome.ok() && outcome.code != RINGRT_CHECKPOINT_FAILED;
}

checkpoint::Meta StepBoundary::meta(uint64_t step) const {
    checkpoint::Meta out{.step = step, .seed = settings_.seed};
    progress_.add_to(out, leads());
    if (leads() && gradients_.learned) out.gradients = gradients_.learned();
    if (leads() && out.gradients.empty()) out.gradients = restored_gradients_;
    return out;
}

std::string StepBoundary::last_checkpoint() const {
    if (saved_step_ < 0) return "no checkpoint yet";
    return format_text("last checkpoint: step %lld", static_cast<long long>(saved_step_));
}

void StepBoundary::log(const std::string &line) const {
    if (!leads()) return;
    std::string job =
        settings_.job ? format_text("job %llu: ", static_cast<unsigned long long>(settings_.job))
                      : "";
    log_line(job + line);
}

void StepBoundary::report(uint64_t step) {
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
    add_live(out);
    if (gradients_.add_planned) gradients_.add_planned(out);
    progress_.add_to(out);
    reporter_->update(out);
}

}  // namespace ringrt
