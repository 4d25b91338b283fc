// SPDX-License-Identifier: BSD-3-Clause
#include "sim/slurm/plugin_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "sim/engine/processor_time.h"
#include "sim/slurm/sim_cluster.h"

namespace ringrt::sim {
namespace {

constexpr double kForEver_s = 1e9;  // thirty years: a pending job will never start

struct NoEvents final : controller::EventSink {
    void write(const controller::Event &) override {}
};

std::vector<ProgramSpec> programs_of(const Workload &workload, const SimOptions &options) {
    std::vector<ProgramSpec> programs;
    for (const JobSpec &job : workload.jobs)
        programs.push_back(
            {.up_s = options.start_s,
             .reload_s = std::max(0.0, restart_seconds(job, options) - kSave_s - kRequeue_s),
             .rigid_up_s = options.start_s,
             .save_s = kSave_s,
             .telemetry_s = options.telemetry_s});
    return programs;
}

}  // namespace

bool drive(SimCluster &cluster, controller::Controller &controller, const std::atomic<bool> *stop,
           std::atomic<uint64_t> *done) {
    double next_pass_s = 0;
    std::size_t told = 0;
    while (!cluster.is_over()) {
        if (stop && stop->load(std::memory_order_relaxed)) return false;
        if (cluster.now_s() > SimCluster::kStart_s + kForEver_s) return false;
        const double pass_s = std::max(next_pass_s, cluster.now_s() + kTick_s);
        // Without jobs no pass is needed.
        cluster.advance_to(cluster.is_empty() ? cluster.next_event_s()
                                              : std::min(cluster.next_event_s(), pass_s));
        if (cluster.now_s() >= next_pass_s) next_pass_s = controller.pass(cluster.now_s());
        if (done && cluster.finished() > told) done->fetch_add(cluster.finished() - told);
        told = cluster.finished();
    }
    (void)controller.pass(cluster.now_s() + 1);  // sees the last end
    return true;
}

RunResult simulate_plugin(const Workload &workload, const PolicySpec &policy,
                          const SimOptions &options, const std::atomic<bool> *stop,
                          std::atomic<uint64_t> *done) {
    const auto start = std::chrono::steady_clock::now();
    Workload own = workload;  // starts at its first job, without limits that do not apply
    const double base_s = own.jobs.empty() ? 0 : std::floor(own.jobs.front().submit_s);
    for (JobSpec &job : own.jobs) {
        job.submit_s -= base_s;
        if (job.gpus_max > job.gpus_min) job.limit_s = 0;
    }
    const std::vector<ProgramSpec> programs = programs_of(own, options);
    controller::Options parameters = *policy.plugin;
    parameters.mode = controller::Mode::act;
    parameters.payback = policy.options.payback;
    if (!policy.plugin_restart_set) parameters.restart_s = options.restart_s;
    SimCluster cluster({&own, &programs, &options, &parameters, true});
    NoEvents events;
    controller::Controller controller(cluster, events, parameters);
    const bool over = drive(cluster, controller, stop, done);
    if (!over && !(stop && stop->load()))
        throw std::logic_error(policy.name + ": jobs wait forever");
    RunResult out = cluster.result();
    out.policy = policy.name;
    out.makespan_s += base_s;
    for (JobResult &job : out.jobs) {
        if (job.start_s >= 0) job.start_s += base_s;
        if (job.finish_s >= 0) job.finish_s += base_s;
    }
    for (Span &span : out.spans) span.from_s += base_s, span.to_s += base_s;
    out.stopped = !over;
    out.decisions = controller.statistics().passes;
    out.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
}

}  // namespace ringrt::sim
