// SPDX-License-Identifier: BSD-3-Clause
// The step boundary: agree, save, leave. Saving and restoring on the program's request use the same
// parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "libringrt/checkpoint/local_level.h"
#include "libringrt/checkpoint/save.h"
#include "libringrt/job/progress.h"
#include "libringrt/job/reporter.h"
#include "libringrt/job/requeue.h"
#include "libringrt/job/settings.h"
#include "libringrt/job/signal_watch.h"
#include "libringrt/job/slurm_link.h"
#include "libringrt/job/step_vote.h"
#include "libringrt/live/resizer.h"

namespace ringrt {

// What gradient reduction adds to checkpoints and telemetry, and `layout`, in which extensions must
// agree; empty: nothing.
struct GradientHooks {
    std::function<std::string()> layout;
    std::function<std::string()> learned;
    std::function<void(records::Telemetry &)> add_planned;
};

class StepBoundary {
  public:
    // `buffers` are sorted by name and may grow until the first restore, save or step.
    StepBoundary(const Settings &settings, Group &group, checkpoint::Fence fence,
                 const std::vector<checkpoint::Buffer> &buffers);

    // Starts to listen for the scheduler's signal and to report.
    Status start();

    // All collective; see ringrt.h.
    Status restore(uint64_t &step);
    Status save(uint64_t step);
    Status step(uint64_t step, ringrt_action_t &action);
    Status finish();  // commits a save that is under way

    // Call before start(): ranks may join and leave (doc/live.md).
    void set_resizer(live::Resizer *resizer) { resizer_ = resizer; }
    // At the end of training: true if this rank is of those that end together.
    bool finish_resizing();
    // For an extension's rank.
    bool asked_to_leave() const {
        return slurm_.requests() != served_ || extension_sigterm_.count() > 0;
    }
    // On rank 0: the ranks that the base is asked to keep; 0: no order.
    uint32_t ranks_to_keep() const { return slurm_.ranks_to_keep(); }
    // Hash in which extensions must agree: registered buffers and gradients, batch
    // rule, order of samples.
    uint64_t layout_hash() const;

    // Call before the first save or restore, with the same argument on all ranks.
    void set_program(const checkpoint::ProgramSaver &program);
    void set_gradients(GradientHooks hooks) { gradients_ = std::move(hooks); }
    // `learned` from the restored checkpoint; empty: none.
    const std::string &restored_gradients() const { return restored_gradients_; }
    job::Progress &progress() { return progress_; }
    const job::Progress &progress() const { return progress_; }
    // "last checkpoint: step 1200", for the message when a peer is lost.
    std::string last_checkpoint() const;

  private:
    bool leads() const { return group_.rank() == 0; }
    bool has_local() const { return local_.is_there() && !program_; }
    void advance(uint64_t step);
    Status catch_sigterm();
    Status agree(uint64_t step, job::StepFlags &agreed, std::vector<live::Vote> &votes);
    Status name_other_step(uint64_t step);
    Status resize(const std::vector<live::Vote> &votes, ringrt_action_t &action);
    Status recover(uint64_t &step);
    Status load(uint64_t &step, checkpoint::Manifest &manifest);
    Status load_rows_again(uint64_t &step);
    bool needs_first_save();
    void add_live(records::Telemetry &out) const;
    [[nodiscard]] live::Position position() const;
    void go_to(const live::Position &position);
    Status save_now(uint64_t step, checkpoint::SaveMode mode);
    Status finish_save();
    Status end_save();
    Status periodic_save(uint64_t step);
    Status local_save(uint64_t step);
    Status leave(uint64_t step, ringrt_action_t &action);
    void stay_cut_off();
    void cancel_resize(const std::string &why);
    bool is_fatal(const Status &outcome) const;
    checkpoint::Meta meta(uint64_t step) const;
    void log(const std::string &line) const;
    void report(uint64_t step);

    const Settings &settings_;
    Group &group_;
    const std::vector<checkpoint::Buffer> &buffers_;
    checkpoint::Store store_;
    checkpoint::Saver saver_;
    checkpoint::LocalLevel local_;
    checkpoint::ProgramSaver program_;
    bool said_no_local_ = false;
    live::Resizer *resizer_ = nullptr;  // null: this job is resized only by requeue
    SignalCounter extension_sigterm_;   // preemption, or its user's scancel
    job::SlurmLink slurm_;
    std::unique_ptr<SignalCounter> sigterm_;  // from the agreement to leave until it is called off
    std::unique_ptr<job::Reporter> reporter_;
    job::Progress progress_;
    GradientHooks gradients_;
    std::string restored_gradients_;
    uint32_t served_ = 0;        // signals already answered
    double ignore_until_s_ = 0;  // after a resize that was called off
    double step_begun_s_ = 0;
    double save_begun_s_ = 0;
    double next_save_s_ = 0;
    bool tried_first_save_ = false;
    uint64_t step_ = 0;         // last finished step
    uint64_t timed_step_ = 0;   // last step whose end ringrt_step() saw
    int64_t saved_step_ = -1;   // of the newest checkpoint; −1: none
    int64_t shared_step_ = -1;  // of the newest that is known to be in the shared directory
    uint64_t saving_step_ = 0;
    double save_ms_ = 0;
    double first_step_end_s_ = 0, began_s_ = 0;  // Unix times; 0: not known yet
};

}  // namespace ringrt
