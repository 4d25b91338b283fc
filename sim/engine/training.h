// SPDX-License-Identifier: BSD-3-Clause
// Where a training stands, and how it goes on by the truth of its profile, epoch by epoch.
#pragma once

#include <algorithm>

#include "sim/workload/workload.h"

namespace ringrt::sim {

inline constexpr double kInstant = 1e-6;  // seconds: well above the rounding of a Unix time

struct Training {
    BatchPlan plan;
    double step_s = 0;         // of its plan where it is
    double step_progress = 0;  // of such a step in this epoch
    int epoch = 0;
    double progress = 0;

    [[nodiscard]] bool is_done(const Profile &profile) const {
        return epoch == static_cast<int>(profile.epoch_ends().size());
    }

    // It goes on with `gpus` GPUs, of `batch` samples in all, at `shape`.
    void go_on(const Profile &profile, const Shape &shape, int samples) {
        plan = split_batch(profile.batch, samples, gpus_of(shape));
        step_s = plan_step_s(profile, shape, plan);
        enter_epoch(profile, gpus_of(shape));
    }
    void enter_epoch(const Profile &profile, int gpus) {
        step_progress = profile.step_progress(plan.total(gpus), epoch);
    }

    // Until it is done if nothing changes, and `seconds` before it goes on at all.
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

    // Runs for `seconds`, or until it is done; returns what is left of them. `ran(steps)` is told
    // of each stretch at one speed, `entered()` of each new epoch.
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
