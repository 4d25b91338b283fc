// SPDX-License-Identifier: BSD-3-Clause
// Jobs to simulate, and the formats they are read from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/workload/csv.h"
#include "sim/workload/profile.h"

namespace ringrt::sim {

struct JobSpec {
    std::string name;
    std::string application;
    std::string user;     // empty: the trace does not say
    double submit_s = 0;  // from the first arrival of the trace
    int gpus_asked = 1;   // as its user asked: what rigid policies give it
    int gpus_min = 1;     // the ladder of malleable policies
    int gpus_max = 1;
    int gpus_limit = 1;     // the most for policies that give any size
    int batch = 1;          // its fixed global batch, in samples
    double limit_s = 0;     // its time limit; 0: none was given
    double restart_s = -1;  // that a stop and restart of it costs; negative: as SimOptions has it
    double start_s = -1;    // and its first start
    double weight = 1;      // of one of its seconds (QOS)
    double priority = 0;    // higher comes first, before arrival
    double waited_s = -1;   // as it really did, where the trace says; negative: it does not
    std::shared_ptr<const Profile> profile;
};

// What a reader made of its file: shown beside the results, for they rest on it.
struct ReadNotes {
    std::size_t steps = 0, without_gpus = 0, never_ran = 0;  // rows left out
    std::size_t cut = 0;       // jobs of more GPUs than the cluster has, cut to these
    bool assumes_law = false;  // how jobs scale is not in the file: WorkloadOptions::parallel
};

struct Workload {
    std::string name;           // the file's name without its extension
    std::vector<JobSpec> jobs;  // by submit_s
    // The same jobs on each kind of GPU: their profiles, and the sizes that fit. Empty: one kind.
    std::vector<std::vector<JobSpec>> kinds;
    ReadNotes notes;
    bool has_dates = false;  // submit_s are Unix times
};

// What the readers need to know besides the file.
struct WorkloadOptions {
    std::string profiles_dir;  // of the applications (pollux) or throughput tables (elasticflow)
    std::string kind;          // of GPU: its measurements are placements-KIND.csv; empty: one
    int kind_gpus = 0;         // of that kind there are so many; 0: all
    int cluster_gpus = 64;     // no job may ask for more
    int gpus_per_node = 4;
    int malleable_max = 64;  // upper end of the ladder where the format names none
    uint64_t seed = 1;       // assigns applications where the format names none
    double parallel = 0.9;   // of a one-GPU step, what shrinks with the GPUs (histories)
};

// The cluster that a history ran on, as far as it shows: the most GPUs in use at once, on nodes of
// as many as any job had on one. Of sacct's output with the columns Start and AllocTRES.
struct SeenCluster {
    int nodes = 0, gpus_per_node = 0;  // 0: the file does not show it
    int most_in_use = 0;
};
[[nodiscard]] SeenCluster seen_cluster(const std::string &path);

// The format is told from the header: Pollux (name,time,application,…), ElasticFlow
// (job_id,submission_time,duration,num_gpu), `sacct -P` (JobID|…), or SWF (*.swf, comments with
// ';'). Throws InputError with file and line.
[[nodiscard]] Workload read_workload(const std::string &path, const WorkloadOptions &options);

// Gives every application restart costs of its own where its jobs do not name theirs: `restart_s`
// times a random factor between 1 / (1 + spread) and 1 + spread.
void spread_restarts(Workload &workload, double restart_s, double spread, uint64_t seed);

// Makes all but a `share` of the jobs rigid, chosen at random.
void keep_malleable(Workload &workload, double share, uint64_t seed);

// Gives a job without a batch its curve: any size divides what stands for one.
void set_curve(JobSpec &job, std::shared_ptr<Profile> profile);

// One workload of all their jobs.
[[nodiscard]] Workload merge_workloads(const std::vector<Workload> &workloads);

// One format each, from memory. `applications` reads the measurements of one of them, by its name;
// `tables` are throughput tables.
using ReadApplication = std::function<std::vector<TextFile>(const std::string &name)>;
[[nodiscard]] Workload parse_pollux(TextFile file, const ReadApplication &applications,
                                    const WorkloadOptions &options);
[[nodiscard]] Workload parse_elasticflow(TextFile file, std::vector<TextFile> tables,
                                         const WorkloadOptions &options);
[[nodiscard]] Workload parse_sacct(TextFile file, const WorkloadOptions &options);
[[nodiscard]] Workload parse_swf(const TextFile &file, const WorkloadOptions &options);

}  // namespace ringrt::sim
