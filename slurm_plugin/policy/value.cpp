// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/value.h"

#include <algorithm>
#include <cmath>

namespace ringrt::policy {
namespace {

// Least remaining time: bounds the value of a nearly finished job.
constexpr double kSoonest_s = 30;

// If a size lasts less than two restarts, no doubling pays. At four, one pays that saves four
// restarts in all. Between 3 and 6 it matters little (doc/policies.md).
constexpr double kRestartsOfSize = 4;

// The factor of a job's speed in its value.
double own_time(double alone_s, const Options &options) {
    switch (options.gain) {
        case GainRule::absolute:
        case GainRule::hull:
            return -1;
        case GainRule::relative:
            return alone_s;
        case GainRule::short_first:
            break;
    }
    return std::pow(alone_s, options.power);
}

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

double size_lasts_s(const Job &job, const Options &options) {
    return std::max(options.size_lasts_s, kRestartsOfSize * options.payback * job.restart_s);
}

double deferral_s(const Job &job, const Options &options) {
    return (size_lasts_s(job, options) - options.size_lasts_s) / kRestartsOfSize;
}

Valuation::Valuation(const Job &job, const Options &options)
    : job_(&job),
      absolute_(options.gain == GainRule::absolute || options.gain == GainRule::hull),
      left_s_per_ms_(steps_left(job, options) / 1000),
      restart_s_(job.gpus_now > 0 ? options.payback * job.restart_s : 0) {
    const double one_ms = std::max(kStepMin_ms, step_ms(job, 1));
    const double alone_s = std::max(kSoonest_s, left_s_per_ms_ * one_ms);
    soonest_s_per_ms_ = kSoonest_s / one_ms;
    scale_ = job.weight * own_time(alone_s, options);
    if (job.gpus_now > 0 && !absolute_)
        restart_s_ *= 1 + left_s_per_ms_ * step_ms(job, job.gpus_now) / size_lasts_s(job, options);
}

}  // namespace ringrt::policy
