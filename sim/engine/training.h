// SPDX-License-Identifier: BSD-3-Clause
// The state of a training, and its progress by its true profile, epoch by epoch.
#pragma once

#include <algorithm>

#include "sim/workload/workload.h"

namespace ringrt::sim {

inline constexpr double kInstant = 1e-6;  // seconds: well above the rounding of a Unix time

struct Training {
    BatchPlan plan;
    double step_s = 0;         // of its plan at its present place
    double step_progress = 0;  // progress of one such step in this epoch
    int epoch = 0;
    double progress = 0;

    [[nodiscard]] bool is_done(const Profile &profile) const {
        return epoch == static_cast<int>(profile.epoch_ends().size());
    }

    // Continues on `shape`, with a batch of `samples` in all.
    void resume(const Profile &profile, const Shape &shape, int samples) {
        plan = split_batch(profile.batch, samples, gpus_of(shape));
        step_s = plan_step_s(profile, shape, plan);
        enter_epoch(profile, gpus_of(shape));
    }
    void enter_epoch(const Profile &profile, int gpus) {
        step_progress = profile.step_progress(plan.total(gpus), epoch);
    }

    // Time to the end if nothing changes; it first pauses for `seconds`.
    [[nodiscard]] double seconds_left(const Profile &profile, int gpus, double seconds = 0) const {
        const std::vector<double> &ends = profile.epoch_ends();
        double from = progress;
        for (int e = epoch; e < static_cast<int>(ends.size()); ++e) {
            const double worth =
                e == epoch ? step_progress : profile.step_progress(plan.total(gpus), e);
            seconds += (ends[static_cast<std::size_t>(e)] - from) * step_s / worth;
            from = ends[static_cast<std::size_t>(e)];
        }
        return seconds;
    }

    // Runs for `seconds` or until done, and returns the seconds left. Calls `ran(steps)` for each
    // stretch at one speed, and `entered()` for each new epoch.
    template <class Ran, class Entered>
    double run(const Profile &profile, double seconds, Ran ran, Entered entered) {
        const std::vector<double> &ends = profile.epoch_ends();
        while (seconds > 0 && !is_done(profile)) {
            const double end = ends[static_cast<std::size_t>(epoch)];
            const double rate = step_progress / step_s;
            const double need = (end - progress) / rate;
            const bool through = need <= seconds + kInstant;
            const double spent = through ? std::min(need, seconds) : seconds;
            ran(spent / step_s);
            progress = through ? end : progress + rate * seconds;
            seconds -= spent;
            if (!through) break;
            ++epoch;
            if (!is_done(profile)) entered();
        }
        return seconds;
    }
};

}  // namespace ringrt::sim
