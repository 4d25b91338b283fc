// SPDX-License-Identifier: BSD-3-Clause
// What a size is worth to a job, by the rules that doubling and the exact optimum can follow.
//
// clang-format off
//   t(w) = steps left · T(w)  [s], plus payback x the cost of a restart if w is not the present size
//
//   absolute, hull   −t(w)           the sum of all remaining times (arXiv 1908.08082)
//   relative          t1 / t(w)      the sum of all speed-ups; t1: alone on one GPU, no restart
//   short_first       t1^p / t(w)    between the speed-ups (p = 1) and the completions per second
//                                    (p = 0): Options::power, 0.86
// clang-format on
//
// Why short_first: a second saved on the job that ends soonest is also saved for every job pending
// behind it. Completions per second alone would starve long jobs of growth. Speed-ups alone lose a
// tenth of the mean completion time. As p rises, the longest jobs end sooner and the mean rises
// (doc/policies.md). Each value is multiplied by the job's weight.
//
// Growth hysteresis: a size lasts for about Options::size_lasts_s, until other jobs start or end,
// and then the next restart is due. So relative and short_first count one restart, plus one for
// each such period in the job's time left at its present size. A restart of 30 s must then gain a
// long job more than 8 %. The dearer a restart, the rarer: a size lasts four restarts at least.
#pragma once

#include <algorithm>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

// If a job's steps slow down with each GPU, its fit can give a step of zero on one GPU. The value,
// and every sum that includes it, would then not be finite.
inline constexpr double kStepMin_ms = 1e-6;

// The values of one job's sizes in one decision. The job must outlive this object.
class Valuation {
  public:
    Valuation(const Job &job, const Options &options);
    struct Utility {
        double value, seconds;
    };
    // The value (larger is better) of `gpus` >= 1, and the seconds left on them, including a
    // restart if the size needs one.
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
    double left_s_per_ms_;  // seconds left per millisecond of a step
    double restart_s_;
    double soonest_s_per_ms_;
    double scale_;
};

// The parameters that an administrator can set.
inline constexpr Param kValueParams[] = {
    {"doubling_power", 0, 1, Options{}.power,
     "Weight of a job's own time in its value: 0 favours short jobs most, 1 not at all",
     &Options::power},
    {"doubling_size_lasts_s", 1, 604800, Options{}.size_lasts_s,
     "Time after which a size is expected to change again, which costs the next restart; four "
     "restarts, if that is longer. A resize that no pending job needs then waits for a quarter of "
     "the difference",
     &Options::size_lasts_s},
    {"doubling_steps_assumed", 1, 1e12, Options{}.steps_assumed,
     "Fewest steps left that are assumed for a job that does not report them",
     &Options::steps_assumed},
};

[[nodiscard]] inline double value(const Job &job, int gpus, const Options &options) {
    return Valuation(job, options).at(gpus);
}

// Steps left. If unknown, the steps done, but at least options.steps_assumed: the more service a
// job has received, the more it is expected to need, as in Tiresias.
[[nodiscard]] double steps_left(const Job &job, const Options &options);

// Seconds after which a size of `job` is expected to change again.
[[nodiscard]] double size_lasts_s(const Job &job, const Options &options);

// How long a resize that no pending job needs must have been wanted before it is asked. It is the
// rule of renting or buying: idle GPUs are the rent, a restart is the price. Who waits until the
// rent has reached the price never loses more than twice what foresight would have lost. Meanwhile
// a job that arrives starts on these GPUs without a restart. A price that a size pays back within
// Options::size_lasts_s is left out: other jobs change the size no sooner.
[[nodiscard]] double deferral_s(const Job &job, const Options &options);

// Seconds until the job ends on `gpus` GPUs, including a restart if the size needs one.
[[nodiscard]] double remaining_s(const Job &job, int gpus, const Options &options);

}  // namespace ringrt::policy
