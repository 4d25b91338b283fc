// SPDX-License-Identifier: BSD-3-Clause
// The step boundary of a ringrt_t: the job (job.h), its checkpoints, and ranks that join and leave.
// Saving and restoring on the program's request use the same parts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libringrt/checkpoint/local_level.h"
#include "libringrt/checkpoint/save.h"
#include "libringrt/job/job.h"
#include "libringrt/job/live_step.h"

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
    void set_resizer(live::Resizer *resizer) { live_.use(resizer); }
    // At the end of training: true if this rank is of those that end together.
    bool finish_resizing() { return live_.finish(); }
    live::ResizerOptions resizer_options() const { return live_.resizer_options(); }
    // For an extension's rank.
    bool asked_to_leave() const { return live_.asked_to_leave(); }
    // Hash in which extensions must agree: LiveStep's, and gradients.
    uint64_t layout_hash() const;

    // Call before the first save or restore, with the same argument on all ranks.
    void set_program(const checkpoint::ProgramSaver &program);
    void set_gradients(GradientHooks hooks) { gradients_ = std::move(hooks); }
    // `learned` from the restored checkpoint; empty: none.
    const std::string &restored_gradients() const { return restored_gradients_; }
    job::Progress &progress() { return job_.progress(); }
    const job::Progress &progress() const { return job_.progress(); }
    // "last checkpoint: step 1200", for the message when a peer is lost.
    std::string last_checkpoint() const;

  private:
    bool leads() const { return job_.leads(); }
    bool has_local() const { return local_.is_there() && !program_; }
    live::Resizer *resizer() const { return live_.resizer(); }
    Status agree(uint64_t step, job::StepFlags &agreed);
    Status resize(job::LiveStep::Resized &out);
    Status recover(uint64_t &step);
    Status load(uint64_t &step);
    Status load_rows_again(uint64_t &step);
    bool needs_first_save();
    void add_to(records::Telemetry &out) const;
    Status save_now(uint64_t step, checkpoint::SaveMode mode);
    Status finish_save();
    Status end_save();
    Status periodic_save(uint64_t step);
    Status local_save(uint64_t step);
    Status leave(uint64_t step, ringrt_action_t &action);
    checkpoint::Meta meta(uint64_t step) const;
    void report(uint64_t step);

    const Settings &settings_;
    Group &group_;
    const std::vector<checkpoint::Buffer> &buffers_;
    job::Job job_;
    job::LiveStep live_;
    checkpoint::Store store_;
    checkpoint::Saver saver_;
    checkpoint::LocalLevel local_;
    checkpoint::ProgramSaver program_;
    bool said_no_local_ = false;
    GradientHooks gradients_;
    std::string restored_gradients_;
    double save_begun_s_ = 0;
    bool tried_first_save_ = false;
    int64_t shared_step_ = -1;  // of the newest that is known to be in the shared directory
    uint64_t saving_step_ = 0;
};

}  // namespace ringrt
