// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/step.h"

#include <unistd.h>

#include "libringrt/base/clock.h"

namespace ringrt {
namespace {

using checkpoint::SaveMode;
using job::is_fatal;

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
      job_(settings, group),
      live_(settings, group, job_),
      store_(checkpoint::real_files(), settings.checkpoint_dir, fence, settings.keep_checkpoints),
      saver_(group, store_, layout_options()),
      local_(group, checkpoint::real_files(), settings.checkpoint_local, host_name(), fence,
             layout_options()) {}

Status StepBoundary::start() {
    RINGRT_TRY(live_.start());
    if (!resizer()) RINGRT_TRY(local_.join());
    return job_.start();
}

Status StepBoundary::restore(uint64_t &step) {
    RINGRT_TRY(live_.catch_sigterm());
    if (resizer() && resizer()->must_recover()) return recover(step);
    // Otherwise the abandoned state would be committed later.
    if (Status finished = end_save(); is_fatal(finished)) return finished;
    Status loaded = load(step);
    if (loaded.code == RINGRT_NOT_FOUND) {
        report(0);
        job_.not_restored(loaded.message);
    }
    RINGRT_TRY(std::move(loaded));
    report(step);
    return {};
}

// Collective. The newest checkpoint, into the registered buffers and the program.
Status StepBoundary::load(uint64_t &step) {
    const FileWork work(group_);
    const double begun_s = monotonic_s();
    checkpoint::Manifest manifest;
    RINGRT_TRY(checkpoint::load_newest(group_, has_local() ? &local_ : nullptr, store_, buffers_,
                                       manifest));
    RINGRT_TRY(load_program_files(group_, program_, store_, manifest));
    restored_gradients_ = manifest.gradients;
    job_.restored(manifest, monotonic_s() - begun_s);
    shared_step_ = has_local() ? -1 : job_.saved_step();  // it may be from the nodes' disks
    step = manifest.step;
    return {};
}

void StepBoundary::set_program(const checkpoint::ProgramSaver &program) {
    program_ = program;
    saver_.set_program(program);
}

Status StepBoundary::save(uint64_t step) {
    job_.advance(step);
    if (Status finished = end_save(); is_fatal(finished)) return finished;
    return save_now(step, SaveMode::inline_write);
}

Status StepBoundary::finish() {
    Status finished = finish_save();
    job_.stop_reports();
    return finished;
}

Status StepBoundary::step(uint64_t step, ringrt_action_t &action) {
    RINGRT_TRY(live_.catch_sigterm());
    job_.end_step(step);
    job::StepFlags agreed;
    RINGRT_TRY(agree(step, agreed));
    ringrt_action_t result = RINGRT_CONTINUE;
    auto resized = job::LiveStep::Resized::no;
    RINGRT_TRY(resize(resized));
    if (resized == job::LiveStep::Resized::left) {
        action = RINGRT_LEAVE;
        return {};
    }
    Status outcome;
    if (saver_.under_way() && (agreed.written || agreed.asked)) outcome = end_save();
    if (!is_fatal(outcome) && agreed.asked && agreed.cut_off)
        job_.stay_cut_off();
    else if (!is_fatal(outcome) && agreed.asked)
        outcome = leave(step, result);
    else if (!is_fatal(outcome) && agreed.save_due)
        outcome = periodic_save(step);
    if (is_fatal(outcome)) return outcome;
    report(step);
    job_.begin_step();
    action = result;
    return {};
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
    shared_step_ = static_cast<int64_t>(saving_step_);
    job_.saved(saving_step_, (monotonic_s() - save_begun_s_) * 1e3);
    return {};
}

// Ends a save that began earlier. A failed save is only logged.
Status StepBoundary::end_save() {
    Status finished = finish_save();
    if (!finished.ok() && !is_fatal(finished)) job_.log(finished.message + ": training continues");
    return finished;
}

Status StepBoundary::periodic_save(uint64_t step) {
    job_.put_off_save();  // even if it fails
    Status local = has_local() ? local_save(step) : Status{};
    if (is_fatal(local) || saver_.under_way()) return local;  // an earlier save still runs
    Status saved =
        save_now(step, settings_.save_inline ? SaveMode::inline_write : SaveMode::in_background);
    if (!saved.ok() && !is_fatal(saved)) job_.log(saved.message + ": training continues");
    return saved;
}

// Saves to the nodes' own disks, before the shared save begins.
Status StepBoundary::local_save(uint64_t step) {
    const FileWork work(group_);
    Status saved = local_.save(buffers_, meta(step));
    if (saved.ok() || is_fatal(saved)) return saved;
    if (!said_no_local_)
        job_.log("node-local checkpoint: " + saved.message + ": only the shared level is saved");
    said_no_local_ = true;
    return saved;
}

Status StepBoundary::leave(uint64_t step, ringrt_action_t &action) {
    job_.begin_leaving();
    Status saved;
    if (shared_step_ != static_cast<int64_t>(step)) saved = save_now(step, SaveMode::inline_write);
    return job_.leave(saved, action);
}

checkpoint::Meta StepBoundary::meta(uint64_t step) const {
    checkpoint::Meta out = job_.meta(step);
    if (leads() && gradients_.learned) out.gradients = gradients_.learned();
    if (leads() && out.gradients.empty()) out.gradients = restored_gradients_;
    return out;
}

std::string StepBoundary::last_checkpoint() const {
    if (job_.saved_step() < 0) return "no checkpoint yet";
    return format_text("last checkpoint: step %lld", static_cast<long long>(job_.saved_step()));
}

void StepBoundary::report(uint64_t step) {
    job_.report(step, [this](records::Telemetry &out) { add_to(out); });
}

}  // namespace ringrt
