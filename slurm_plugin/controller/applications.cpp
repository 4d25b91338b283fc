// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/applications.h"

#include <algorithm>

namespace ringrt::controller {
namespace {

void set_speed(Application &application, int gpus, double step_ms) {
    if (gpus <= 0 || !(step_ms > 0)) return;
    std::vector<model::SpeedSample> &speeds = application.speeds;
    const auto at = std::ranges::lower_bound(speeds, gpus, {}, &model::SpeedSample::gpus);
    if (at != speeds.end() && at->gpus == gpus)
        at->step_ms = step_ms;
    else if (speeds.size() < records::kSpeedSamplesMax)
        speeds.insert(at, {gpus, step_ms});
}

// Excludes the names that Slurm gives to unnamed jobs.
bool has_own_name(const JobRecord &job) {
    return !job.name.empty() && job.name != "wrap" && job.name != "sbatch" && job.name != "bash" &&
           job.name != "sh" && job.name != "interactive";
}

}  // namespace

void Applications::learn(const JobRecord &job, double now_s) {
    if (!has_own_name(job) || !job.telemetry || !(job.telemetry->step_ms > 0)) return;
    const records::Telemetry &telemetry = *job.telemetry;
    Application &application = insert(job, telemetry.batch);
    application.batch = telemetry.batch;
    for (int i = 0; i < telemetry.samples; ++i)
        set_speed(application, telemetry.speed[i].gpus, telemetry.speed[i].step_ms);
    set_speed(application, telemetry.gpus, telemetry.step_ms);
    // A run's start-up is known from its first report on. Until then the record has that of the run
    // before, which may have started much faster.
    if (job.intent && job.intent->restart_s > 0 && job.intent->base_step >= 0)
        application.restart_s = job.intent->restart_s + job.intent->start_up_s;
    if (telemetry.steps_left >= 0)
        application.steps_total =
            telemetry.steps_done() + static_cast<double>(telemetry.steps_left);
    application.reported_s = now_s;
}

// A job that has not reported a batch yet is taken for one of the batch that was reported last.
const Application *Applications::find(const JobRecord &job) const {
    if (job.telemetry && job.telemetry->step_ms > 0) {
        const auto found = known_.find(key_of(job, job.telemetry->batch));
        return found == known_.end() ? nullptr : &found->second;
    }
    const auto [begin, end] = batches_of(job);
    const auto newest = std::max_element(begin, end, reported_before);
    return newest == end ? nullptr : &newest->second;
}

// A job that reports ever new batches drops its own, not those of others.
Application &Applications::insert(const JobRecord &job, uint32_t batch) {
    const Key key = key_of(job, batch);
    if (known_.contains(key)) return known_[key];
    const auto [begin, end] = batches_of(job);
    if (std::distance(begin, end) >= static_cast<std::ptrdiff_t>(kBatchesMost))
        known_.erase(std::min_element(begin, end, reported_before));
    else if (known_.size() >= kMost)
        known_.erase(std::min_element(known_.cbegin(), known_.cend(), reported_before));
    return known_[key];
}

}  // namespace ringrt::controller
