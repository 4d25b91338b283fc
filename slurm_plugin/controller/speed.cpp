// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/speed.h"

#include <algorithm>
#include <span>
#include <vector>

namespace ringrt::controller {
namespace {

// What the job's plans promise at sizes that it has not run at, scaled to what the present size was
// measured to take: a weak word beside a measurement, a better one than the default curve.
constexpr double kPlannedWeight = 0.05;

void add_planned(const records::Telemetry &telemetry, std::vector<model::SpeedSample> &samples) {
    const auto planned = std::span(telemetry.planned).first(telemetry.planned_sizes);
    const auto present = std::ranges::find(planned, telemetry.gpus, &records::SpeedSample::gpus);
    if (present == planned.end() || !(telemetry.step_ms > 0)) return;
    const double scale = telemetry.step_ms / present->step_ms;
    for (const records::SpeedSample &size : planned)
        if (std::ranges::find(samples, size.gpus, &model::SpeedSample::gpus) == samples.end())
            samples.push_back({size.gpus, scale * size.step_ms, kPlannedWeight});
}

}  // namespace

model::SpeedModel speed_of(const records::Telemetry &telemetry) {
    std::vector<model::SpeedSample> samples;
    for (int i = 0; i < telemetry.samples; ++i)
        samples.push_back({telemetry.speed[i].gpus, telemetry.speed[i].step_ms, 1});
    const bool has_present =
        std::any_of(telemetry.speed.begin(), telemetry.speed.begin() + telemetry.samples,
                    [&](const records::SpeedSample &s) { return s.gpus == telemetry.gpus; });
    if (!has_present) samples.push_back({telemetry.gpus, telemetry.step_ms, 1});
    add_planned(telemetry, samples);
    return model::fit_speed_model(samples);
}

}  // namespace ringrt::controller
