// SPDX-License-Identifier: BSD-3-Clause
// The truth about an application: its step time at each placement, and the progress of its steps.
//
// Only the simulator sees a profile. Policies see what a job would report: its measured step times,
// its progress, and models fitted to these (or, in oracle mode, curves from the profile).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/workload/csv.h"

namespace ringrt::sim {

// GPUs on each node of a job, in rank order; every count is at least 1.
using Shape = std::vector<uint8_t>;

[[nodiscard]] int gpus_of(const Shape &shape);
// `gpus` on as few nodes as possible: full nodes first, the rest on the last.
[[nodiscard]] Shape packed(int gpus, int gpus_per_node);
// On as few nodes as possible, spread evenly.
[[nodiscard]] Shape packed_evenly(int gpus, int gpus_per_node);

struct StepTime {
    double step_s = 0;  // one step: forward, backward, synchronisation
    double sync_s = 0;  // the part of it that only a synchronised step pays
};

// Split of a job's global batch: `local` samples per GPU and pass, `passes` passes per step.
struct BatchPlan {
    int local = 1;
    int passes = 1;
    [[nodiscard]] int total(int gpus) const { return gpus * local * passes; }
};

// Limits of an application's batch, in samples.
struct BatchLimits {
    int initial = 1;  // the batch at which one step is one unit of progress
    int total_max = 1;
    int local_min = 1;
    int local_max = 1;  // limited by the memory of one GPU
};

struct Gradient {
    double square = 0, variance = 0;  // of the gradient at the initial batch: its noise
};

class Profile {
  public:
    virtual ~Profile() = default;

    [[nodiscard]] virtual StepTime step_time(const Shape &shape, double local_batch) const = 0;
    // Progress of one step at `total_batch` during epoch `epoch`, in steps of the initial batch: 1
    // at the initial batch, less than total/initial above it (Pollux, OSDI 2021, eq. 6).
    [[nodiscard]] virtual double step_progress(int total_batch, int epoch) const = 0;
    // The gradient statistics that a job measures at `total_batch` during `epoch`.
    [[nodiscard]] virtual Gradient gradient(int total_batch, int epoch) const = 0;
    // Recorded steps of a whole training at a fixed batch until the end of `epoch`.
    [[nodiscard]] virtual double steps_until(int total_batch, int epoch) const = 0;
    // Cumulative progress at the end of each epoch; the job is done at the last.
    [[nodiscard]] virtual const std::vector<double> &epoch_ends() const = 0;

    std::string name;
    BatchLimits batch;
    double slowdown = 1;         // factor on the measured step time
    int measured_on_a_node = 0;  // GPUs; more step as fast as these. 0: nodes do not matter
};

// Splits a fixed global batch over `gpus` ranks; accumulates if it does not fit the memory.
[[nodiscard]] BatchPlan split_batch(const BatchLimits &limits, int total_batch, int gpus);

// Seconds of one whole step of `plan`, with its accumulation passes.
[[nodiscard]] double plan_step_s(const Profile &profile, const Shape &shape, BatchPlan plan);

// One epoch, with a constant step time per number of GPUs, wherever they are. `step_s[k]` is for
// sizes[k] GPUs. Between sizes the step time is interpolated linearly; beyond them the nearest
// holds. The batch does not matter.
[[nodiscard]] std::shared_ptr<Profile> curve_profile(std::string name, std::vector<int> sizes,
                                                     std::vector<double> step_s, double steps);

// An application measured for Pollux: placements.csv, validation-BATCH.csv and, if measured,
// scalability.csv; for one GPU type placements-TYPE.csv and scalability-TYPE.csv. Throws
// InputError.
[[nodiscard]] std::shared_ptr<Profile> parse_pollux_profile(const std::string &application,
                                                            std::vector<TextFile> files,
                                                            const std::string &gpu_type = "");

}  // namespace ringrt::sim
