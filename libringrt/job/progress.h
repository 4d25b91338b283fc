// SPDX-License-Identifier: BSD-3-Clause
// A training's progress, speed and remaining work, as reported to the scheduler and kept in a
// checkpoint. PURE.
//
// All values are in reference steps of BatchRule::reference_batch samples. Under a fixed batch per
// GPU, a step on twice the GPUs is twice the work, so a job that counted its own steps would show
// no speedup from scaling up. If no batch is configured, a step is a step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "libringrt/checkpoint/manifest.h"
#include "libringrt/checkpoint/save.h"
#include "libringrt/job/batch.h"
#include "libringrt/job/loss_curve.h"
#include "libringrt/job/settings.h"
#include "libringrt/job/step_clock.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::job {

class Progress {
  public:
    Progress(const Settings &settings, int size);

    // The duration of the step that just ended.
    void timed(double step_ms);
    void advance(uint64_t steps);
    void resized(int size);  // in place (doc/live.md)
    // Moves to another rank's position, after a resize in place.
    void go_to(uint64_t step, uint64_t samples, uint32_t global_batch);
    // These return INVALID_ARGUMENT with the reason.
    // Takes effect from the current step, as ringrt_config_t::global_batch.
    Status set_batch(uint32_t global_batch);
    Status set_steps_left(uint64_t steps);  // at the current size and batch
    Status set_samples_left(uint64_t samples);
    // The loss of the current step.
    void record_loss(double loss, double goal);

    [[nodiscard]] const BatchRule &batch() const { return batch_; }
    [[nodiscard]] uint64_t samples() const { return samples_; }
    [[nodiscard]] uint64_t steps() const { return steps_; }
    // The time of a step at the current size and batch; 0: not measured yet.
    [[nodiscard]] double step_s() const { return clock_.step_ms() * per_step() / 1e3; }

    void restore(const checkpoint::Manifest &manifest);
    void add_to(checkpoint::Meta &meta, bool with_losses) const;
    void note_speed();  // stores this size's speed, if measured
    // Also converts its planned speeds, which are per step at each size.
    void add_to(records::Telemetry &telemetry);

  private:
    [[nodiscard]] double per_step() const { return reference_steps(batch_, size_); }
    [[nodiscard]] double done() const;  // reference steps
    std::optional<double> left();

    BatchRule batch_;
    int size_;
    const uint64_t steps_total_, samples_total_;
    uint64_t steps_ = 0, samples_ = 0;
    std::optional<double> told_left_;
    StepClock clock_;
    LossCurve losses_;                   // on rank 0, over all runs of the job
    std::map<uint32_t, double> speeds_;  // GPUs → ms, over all runs of the job
};

}  // namespace ringrt::job
