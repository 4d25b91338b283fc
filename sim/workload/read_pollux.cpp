// SPDX-License-Identifier: BSD-3-Clause
// Pollux workloads: name, time (s), application, num_replicas, batch_size. The applications are
// directories of measurements.
#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <map>

#include "sim/workload/csv.h"
#include "sim/workload/workload.h"

namespace ringrt::sim {
namespace {

// Properties of applications that the authors' simulator has besides the measurements.
struct Fact {
    std::string_view application;
    int local_max;  // samples per GPU, if the GPU type has no name; 0: as measured
    int gpus_max;   // 0: no limit
    int batch;      // the only one, if the GPU type has no name; 0: the batch may adapt
};
constexpr std::array kFacts{
    Fact{"yolov3", 8, 0, 0},   // 11 and 16 images per GPU were measured but not used
    Fact{"ncf", 0, 1, 32768},  // always on one GPU; Pollux fixes its batch, Sia does not
};

Fact facts_of(std::string_view application) {
    for (const Fact &fact : kFacts)
        if (fact.application == application) return fact;
    return {application, 0, 0, 0};
}

std::shared_ptr<const Profile> profile_of(const std::string &application,
                                          const ReadApplication &applications,
                                          const std::string &gpu_type, double slowdown) {
    for (const char c : application)
        if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'))
            throw InputError("application: expected letters, digits, - and _, got \"" +
                             printable(application) + "\"");
    std::shared_ptr<Profile> profile =
        parse_pollux_profile(application, applications(application), gpu_type);
    profile->slowdown = slowdown;
    const int most = facts_of(application).local_max;
    if (most > 0 && gpu_type.empty()) profile->batch.local_max = most;
    return profile;
}

}  // namespace

Workload parse_pollux(TextFile file, const ReadApplication &applications,
                      const WorkloadOptions &options) {
    const Table table(std::move(file), ',');
    const std::size_t name = table.column("name"), time = table.column("time"),
                      application = table.column("application"),
                      gpus = table.column("num_replicas"), batch = table.column("batch_size");
    std::map<std::pair<std::string, double>, std::shared_ptr<const Profile>> profiles;
    Workload workload;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        JobSpec job;
        job.name = printable(table.text(row, name));
        job.application = std::string(table.text(row, application));
        job.submit_s = table.number(row, time, 0, 1e9);
        job.restart_s = table.number_or(row, "restart_s", 0, 1e6, -1);
        job.gpus_asked = table.integer(row, gpus, 1, options.cluster_gpus);
        job.start_s = table.number_or(row, "start_s", 0, 1e6, -1);
        const double slowdown = table.number_or(row, "slowdown", 1e-3, 1e3, 1);
        std::shared_ptr<const Profile> &profile = profiles[{job.application, slowdown}];
        if (!profile)
            profile = profile_of(job.application, applications, options.gpu_type, slowdown);
        job.batch = table.integer(row, batch, 1, profile->batch.total_max);
        job.profile = profile;
        if (options.gpu_type.empty()) job.adaptive_batch = facts_of(job.application).batch;
        // Every GPU needs at least the application's smallest local batch.
        const int gpus_here =
            options.gpus_of_type > 0 ? options.gpus_of_type : options.cluster_gpus;
        int most = std::clamp(job.batch / profile->batch.local_min, 1, gpus_here);
        if (const int limit = facts_of(job.application).gpus_max) most = std::min(most, limit);
        job.gpus_limit = most;
        job.gpus_max = static_cast<int>(std::bit_floor(static_cast<unsigned>(most)));
        workload.jobs.push_back(std::move(job));
    }
    std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                     [](const JobSpec &a, const JobSpec &b) { return a.submit_s < b.submit_s; });
    return workload;
}

}  // namespace ringrt::sim
