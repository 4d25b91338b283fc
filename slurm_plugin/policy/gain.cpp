// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/gain.h"

#include <algorithm>
#include <cmath>

namespace ringrt::policy {
namespace {

// No job is so nearly done that its value would dwarf all others.
constexpr double kSoonestS = 30;

}  // namespace

double steps_left(const Job &job, const Options &options) {
    if (std::isfinite(job.steps_left)) return std::max(0.0, job.steps_left);
    return std::max(job.steps_done, options.steps_assumed);
}

double remaining_s(const Job &job, int gpus, const Options &options) {
    const double restart =
        job.gpus_now > 0 && gpus != job.gpus_now ? options.payback * job.restart_s : 0;
    return steps_left(job, options) * step_ms(job, gpus) / 1000 + restart;
}

double value(const Job &job, int gpus, const Options &options) {
    const double left = remaining_s(job, gpus, options);
    if (options.gain == GainRule::absolute || options.gain == GainRule::hull)
        return -job.weight * left;
    const double alone = std::max(kSoonestS, steps_left(job, options) * step_ms(job, 1) / 1000);
    const double soonest = kSoonestS * step_ms(job, gpus) / step_ms(job, 1);
    const double speedup = alone / std::max(soonest, left);
    return job.weight * (options.gain == GainRule::relative ? speedup : speedup / std::sqrt(alone));
}

}  // namespace ringrt::policy
