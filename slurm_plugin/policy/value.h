// SPDX-License-Identifier: BSD-3-Clause
// What a size is worth to a job, by the rules that doubling and the exact optimum can follow.
//
// clang-format off
//   t(w) = steps left · T(w)  [s], plus payback x the cost of a restart where w is not the present size
//
//   absolute, hull   −t(w)           the sum of all remaining times (arXiv 1908.08082)
//   relative          t1 / t(w)      the sum of all speed-ups; t1: alone on one GPU, no restart
//   short_first       t1^p / t(w)    between the speed-ups (p = 1) and the completions per second
//                                    (p = 0): Options::power, 0.9
// clang-format on
//
// Why short_first: a second saved on the job that is done soonest is saved for all who wait behind
// it, but pure completions per second would starve long jobs of growth, and pure speed-ups lose a
// tenth of the mean. As p rises to 0.9 the longest jobs' completion falls at little cost of the
// mean (doc/policies.md). All are multiplied by the job's weight.
//
// Growth hysteresis: a size lasts only until others come or go, Options::size_lasts_s or so, and
// then the next restart is due. So relative and short_first count a restart once for each such time
// that the job has left at its present size, one more at the least: a restart of 30 s must bring
// more than 4 % to a long job.
#pragma once

#include <algorithm>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

// The fit of a job whose steps slow down with each GPU may give none at all on one: such a value
// would be no number, and all sums with it.
inline constexpr double kStepMin_ms = 1e-6;

// The value of one job's sizes in one decision. The job must outlive it.
class Valuation {
  public:
    Valuation(const Job &job, const Options &options);
    struct Utility {
        double value, seconds;
    };
    // The value (larger is better) of `gpus` >= 1, and the seconds from now on with them, a restart
    // included where it needs one.
    [[nodiscard]] Utility utility_at(int gpus) const {
        const double step = std::max(kStepMin_ms, step_ms(*job_, gpus));
        const double left_s = left_s_per_ms_ * step + (gpus != job_->gpus_now ? restart_s_ : 0);
        const double value =
            absolute_ ? scale_ * left_s : scale_ / std::max(soonest_s_per_ms_ * step, left_s);
        return {.value = value, .seconds = left_s};
    }
    [[nodiscard]] double at(int gpus) const { return utility_at(gpus).value; }
    [[nodiscard]] double seconds_at(int gpus) const { return utility_at(gpus).seconds; }

  private:
    const Job *job_;
    bool absolute_;
    double left_s_per_ms_;  // seconds left for each millisecond of a step
    double restart_s_;
    double soonest_s_per_ms_;
    double scale_;
};

// What an administrator may set of it.
inline constexpr Param kValueParams[] = {
    {"doubling_power", 0, 1, Options{}.power,
     "How much of a job's own time stays in its value: 0 favours short jobs most, 1 not at all",
     &Options::power},
    {"doubling_size_lasts_s", 1, 604800, Options{}.size_lasts_s,
     "Time after which a size is expected to change again, which makes the next restart due",
     &Options::size_lasts_s},
    {"doubling_steps_assumed", 1, 1e12, Options{}.steps_assumed,
     "Steps that a job is taken to have left at least where it does not say",
     &Options::steps_assumed},
};

[[nodiscard]] inline double value(const Job &job, int gpus, const Options &options) {
    return Valuation(job, options).at(gpus);
}

// Steps left, or what is assumed where that is not known: as many as were done (the more a job has
// received, the more it is expected to need, as in Tiresias), at least options.steps_assumed.
[[nodiscard]] double steps_left(const Job &job, const Options &options);

// Seconds that the job needs from now on at `gpus` GPUs, a restart included where it needs one.
[[nodiscard]] double remaining_s(const Job &job, int gpus, const Options &options);

}  // namespace ringrt::policy
