// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/speed.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace ringrt::controller {
namespace {

// The speeds that the job's plans predict at sizes where it has not run, scaled to the measured
// step time at the present size. They weigh little against a measurement, more than the default
// curve.
constexpr double kPlannedWeight = 0.05;

// Two jobs of one name that differ by more than this at one size are different programs.
constexpr double kAlikeMost = 3;

bool has_size(const std::vector<model::SpeedSample> &samples, int gpus) {
    return std::ranges::find(samples, gpus, &model::SpeedSample::gpus) != samples.end();
}

// How much slower the job is than its application: the geometric mean over their common sizes; 1 if
// there is none. The speeds may differ (other data, other nodes) while the shape of the curve is
// the same. 0: they are too different.
double slowdown_against(const Application &application,
                        const std::vector<model::SpeedSample> &own) {
    double sum = 0;
    int count = 0;
    for (const model::SpeedSample &mine : own)
        for (const model::SpeedSample &theirs : application.speeds) {
            if (mine.gpus != theirs.gpus) continue;
            sum += std::log(mine.step_ms / theirs.step_ms);
            ++count;
        }
    const double ratio = count > 0 ? std::exp(sum / count) : 1;
    return ratio <= kAlikeMost && ratio >= 1 / kAlikeMost ? ratio : 0;
}

void add_application(const records::Telemetry &telemetry, const Application &application,
                     std::vector<model::SpeedSample> &samples) {
    if (application.batch != telemetry.batch) return;
    const double ratio = slowdown_against(application, samples);
    if (!(ratio > 0)) return;
    for (const model::SpeedSample &theirs : application.speeds)
        if (!has_size(samples, theirs.gpus))
            samples.push_back({theirs.gpus, ratio * theirs.step_ms});
}

void add_planned(const records::Telemetry &telemetry, std::vector<model::SpeedSample> &samples) {
    const auto planned = std::span(telemetry.planned).first(telemetry.planned_sizes);
    const auto present = std::ranges::find(planned, telemetry.gpus, &records::SpeedSample::gpus);
    if (present == planned.end() || !(telemetry.step_ms > 0)) return;
    const double scale = telemetry.step_ms / present->step_ms;
    for (const records::SpeedSample &size : planned)
        if (!has_size(samples, size.gpus))
            samples.push_back({size.gpus, scale * size.step_ms, kPlannedWeight});
}

int largest_of(const std::vector<model::SpeedSample> &samples) {
    int gpus = 0;
    for (const model::SpeedSample &sample : samples) gpus = std::max(gpus, sample.gpus);
    return gpus;
}

std::vector<model::SpeedSample> own_speeds(const records::Telemetry &telemetry) {
    std::vector<model::SpeedSample> samples;
    for (int i = 0; i < telemetry.samples; ++i)
        samples.push_back({telemetry.speed[i].gpus, telemetry.speed[i].step_ms, 1});
    if (!has_size(samples, telemetry.gpus))
        samples.push_back({telemetry.gpus, telemetry.step_ms, 1});
    std::erase_if(samples, [](const model::SpeedSample &s) { return !(s.step_ms > 0); });
    return samples;
}

}  // namespace

std::vector<model::SpeedSample> measured_speeds(const records::Telemetry &telemetry,
                                                const Application &application) {
    if (telemetry.batch == 0) return {};
    std::vector<model::SpeedSample> samples = own_speeds(telemetry);
    add_application(telemetry, application, samples);
    return samples;
}

std::vector<model::SpeedSample> measured_speeds(const Application &application) {
    return application.batch > 0 ? application.speeds : std::vector<model::SpeedSample>{};
}

int largest_measured(const records::Telemetry &telemetry, const Application &application) {
    std::vector<model::SpeedSample> samples = own_speeds(telemetry);
    add_application(telemetry, application, samples);
    return largest_of(samples);
}

int largest_measured(const Application &application) { return largest_of(application.speeds); }

model::SpeedModel speed_of(const records::Telemetry &telemetry, const Application &application) {
    std::vector<model::SpeedSample> samples = own_speeds(telemetry);
    add_application(telemetry, application, samples);
    add_planned(telemetry, samples);
    return model::fit_speed_model(samples);
}

model::SpeedModel speed_of(const Application &application) {
    return model::fit_speed_model(application.speeds);
}

}  // namespace ringrt::controller
