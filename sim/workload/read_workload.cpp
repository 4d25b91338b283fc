// SPDX-License-Identifier: BSD-3-Clause
// Detects the format, and does what all formats share.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "sim/workload/csv.h"
#include "sim/workload/workload.h"

namespace ringrt::sim {

namespace {

// The directory that `--profiles` names.
const std::string &profiles_dir(const TextFile &file, const WorkloadOptions &options,
                                const char *otherwise) {
    if (options.profiles_dir.empty()) throw InputError(file.path + ": " + otherwise);
    return options.profiles_dir;
}

Workload parse_workload(TextFile file, const WorkloadOptions &options) {
    if (file.path.ends_with(".swf")) return parse_swf(file, options);
    const std::string_view head = std::string_view(file.text).substr(0, file.text.find('\n'));
    if (head.find('|') != std::string_view::npos) return parse_sacct(std::move(file), options);
    if (head.find("submission_time") != std::string_view::npos) {
        auto tables = read_tables(profiles_dir(
            file, options, "needs --profiles DIR, a directory of throughput tables (MODEL.csv)"));
        return parse_elasticflow(std::move(file), std::move(tables), options);
    }
    if (head.find("application") != std::string_view::npos) {
        const std::string &dir = profiles_dir(
            file, options, "needs --profiles DIR, the directory of its applications' measurements");
        return parse_pollux(
            std::move(file),
            [&](const std::string &application) { return read_tables(dir + "/" + application); },
            options);
    }
    throw InputError(file.path +
                     ":1: neither a Pollux workload (name,time,application,...), an ElasticFlow "
                     "trace (job_id,submission_time,...), sacct -P output (JobID|...) nor *.swf");
}

}  // namespace

Workload read_workload(const std::string &path, const WorkloadOptions &options) {
    Workload workload = parse_workload(read_file(path), options);
    workload.name = stem(path);
    std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                     [](const JobSpec &a, const JobSpec &b) { return a.submit_s < b.submit_s; });
    return workload;
}

void spread_restarts(Workload &workload, double restart_s, double spread, uint64_t seed) {
    if (spread <= 0) return;
    std::map<std::string_view, double> costs;  // by application, in name order
    for (const JobSpec &job : workload.jobs) costs[job.application];
    std::mt19937_64 random(seed);
    for (auto &[application, cost] : costs) {
        const double unit = 2 * double(random() >> 11) / double(uint64_t{1} << 53) - 1;  // -1..1
        cost = restart_s * std::pow(1 + spread, unit);
    }
    for (JobSpec &job : workload.jobs)
        if (job.restart_s < 0) job.restart_s = costs[job.application];
}

void keep_malleable(Workload &workload, double share, uint64_t seed) {
    if (share >= 1) return;
    std::mt19937_64 random(seed);
    for (JobSpec &job : workload.jobs) {
        const double unit = double(random() >> 11) / double(uint64_t{1} << 53);  // 0..1
        if (unit < share) continue;
        job.gpus_min = job.gpus_max = job.gpus_limit = job.gpus_asked;
    }
}

void set_curve(JobSpec &job, std::shared_ptr<Profile> profile) {
    constexpr int kBatch = 65536;
    profile->batch = {.initial = kBatch, .total_max = kBatch, .local_min = 1, .local_max = kBatch};
    job.batch = kBatch;
    job.profile = std::move(profile);
}

Workload merge_workloads(const std::vector<Workload> &workloads) {
    Workload merged{.name = "merged", .jobs = {}};
    for (const Workload &workload : workloads) {
        merged.has_dates |= workload.has_dates;
        merged.notes.assumes_law |= workload.notes.assumes_law;
        merged.notes.steps += workload.notes.steps;
        merged.notes.without_gpus += workload.notes.without_gpus;
        merged.notes.never_ran += workload.notes.never_ran;
        merged.notes.cut += workload.notes.cut;
        merged.jobs.insert(merged.jobs.end(), workload.jobs.begin(), workload.jobs.end());
    }
    std::stable_sort(merged.jobs.begin(), merged.jobs.end(),
                     [](const JobSpec &a, const JobSpec &b) { return a.submit_s < b.submit_s; });
    return merged;
}

}  // namespace ringrt::sim
