// SPDX-License-Identifier: BSD-3-Clause
// How far a training is, how fast it goes and what is left of it, as the scheduler is told and as a
// checkpoint keeps it. PURE.
//
// All of it is in reference steps of BatchRule::reference_batch samples, whatever a step of the job
// trains now: under a fixed batch per GPU a step on twice the GPUs is twice the work, and a job
// that counted its own steps would look no faster for having grown. Where no batch is configured a
// step is a step.
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

    // The step that ends now took so long.
    void timed(double step_ms);
    void advance(uint64_t steps);
    void resized(int size);  // in place (doc/live.md)
    // Where another rank is, after a resize in place.
    void go_to(uint64_t step, uint64_t samples, uint32_t global_batch);
    // From the step under way on, as ringrt_config_t::global_batch.
    void set_batch(uint32_t global_batch) { batch_.global_batch = global_batch; }
    void set_steps_left(uint64_t steps);  // of the present size and batch
    void set_samples_left(uint64_t samples);
    // Of the step under way.
    void record_loss(double loss, double goal);

    [[nodiscard]] const BatchRule &batch() const { return batch_; }
    [[nodiscard]] uint64_t samples() const { return samples_; }
    [[nodiscard]] uint64_t steps() const { return steps_; }

    void recall(const checkpoint::Manifest &manifest);
    void add_to(checkpoint::Meta &meta, bool with_losses) const;
    void note_speed();  // of this size, where it is known by now
    // With what its plans promise, which is of a step at each size.
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
