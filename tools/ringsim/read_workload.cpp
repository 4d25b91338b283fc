// SPDX-License-Identifier: BSD-3-Clause
// Which format is it? And what all formats share.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "tools/ringsim/csv.h"
#include "tools/ringsim/workload.h"

namespace ringrt::sim {

Workload read_workload(const std::string &path, const WorkloadOptions &options) {
    const std::filesystem::path file(path);
    Workload workload;
    if (file.extension() == ".swf") {
        workload = read_swf(path, options);
    } else {
        const std::string text = read_file(path);
        const std::string_view head = std::string_view(text).substr(0, text.find('\n'));
        if (head.find('|') != std::string_view::npos)
            workload = read_sacct(path, options);
        else if (head.find("submission_time") != std::string_view::npos)
            workload = read_elasticflow(path, options);
        else if (head.find("application") != std::string_view::npos)
            workload = read_pollux(path, options);
        else
            throw InputError(path +
                             ":1: neither a Pollux workload (name,time,application,...), an "
                             "ElasticFlow trace (job_id,submission_time,...), sacct -P output "
                             "(JobID|...) nor *.swf");
    }
    workload.name = file.stem().string();
    std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                     [](const JobSpec &a, const JobSpec &b) { return a.submit_s < b.submit_s; });
    return workload;
}

void spread_restarts(Workload &workload, double restart_s, double spread, uint64_t seed) {
    if (spread <= 0) return;
    std::map<std::string_view, double> costs;  // by application, in the order of their names
    for (const JobSpec &job : workload.jobs) costs[job.application];
    std::mt19937_64 random(seed);
    for (auto &[application, cost] : costs) {
        const double unit = 2 * double(random() >> 11) / double(uint64_t{1} << 53) - 1;  // -1..1
        cost = restart_s * std::pow(1 + spread, unit);
    }
    for (JobSpec &job : workload.jobs)
        if (job.restart_s < 0) job.restart_s = costs[job.application];
}

void set_curve(JobSpec &job, std::shared_ptr<Profile> profile) {
    constexpr int kBatch = 65536;
    profile->batch = {.initial = kBatch, .total_max = kBatch, .local_min = 1, .local_max = kBatch};
    job.batch = kBatch;
    job.profile = std::move(profile);
}

Workload merge_workloads(const std::vector<Workload> &workloads) {
    Workload merged{.name = "merged", .jobs = {}};
    for (const Workload &workload : workloads)
        merged.jobs.insert(merged.jobs.end(), workload.jobs.begin(), workload.jobs.end());
    std::stable_sort(merged.jobs.begin(), merged.jobs.end(),
                     [](const JobSpec &a, const JobSpec &b) { return a.submit_s < b.submit_s; });
    return merged;
}

}  // namespace ringrt::sim
