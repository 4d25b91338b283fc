// SPDX-License-Identifier: BSD-3-Clause
// Jobs to simulate, and readers for their file formats.
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
    std::string user;     // empty: not in the trace
    double submit_s = 0;  // from the first arrival of the trace
    int gpus_asked = 1;   // as its user requested: the size under rigid policies
    int gpus_min = 1;     // the ladder of malleable policies
    int gpus_max = 1;
    int gpus_limit = 1;      // the most for policies that assign any size
    int batch = 1;           // its fixed global batch, in samples
    int adaptive_batch = 0;  // its only batch under a policy that adapts batches; 0: any
    double limit_s = 0;      // its time limit; 0: none
    double restart_s = -1;   // cost of a stop and restart; negative: as in SimOptions
    double start_s = -1;     // cost of its first start; negative: as in SimOptions
    double weight = 1;       // value of one of its seconds (QOS)
    double priority = 0;     // a higher one goes first, before arrival
    double waited_s = -1;    // recorded queue wait; negative: not in the trace
    std::shared_ptr<const Profile> profile;
};

// How a reader treated its file: shown with the results, which depend on it.
struct ReadNotes {
    std::size_t steps = 0, without_gpus = 0, never_ran = 0;  // rows left out
    std::size_t cut = 0;       // jobs of more GPUs than the cluster has, reduced to these
    bool assumes_law = false;  // the file does not say how jobs scale: WorkloadOptions::parallel
};

struct Workload {
    std::string name;           // the file's name without its extension
    std::vector<JobSpec> jobs;  // by submit_s
    // The same jobs on each GPU type: their profiles, and the sizes that fit. Empty: one type.
    std::vector<std::vector<JobSpec>> gpu_types;
    ReadNotes notes;
    bool has_dates = false;  // submit_s are Unix times
};

// The readers' input besides the file.
struct WorkloadOptions {
    std::string profiles_dir;  // of applications (pollux) or of throughput tables (elasticflow)
    std::string gpu_type;  // GPU type: its measurements are in placements-TYPE.csv; empty: one type
    int gpus_of_type = 0;  // number of GPUs of that type; 0: all
    int cluster_gpus = 64;  // no job may request more
    int gpus_per_node = 4;
    int malleable_max = 64;  // upper end of the ladder if the format has none
    uint64_t seed = 1;       // assigns applications if the format has none
    double parallel = 0.9;   // the part of a one-GPU step that shrinks with the GPUs (histories)
};

// The cluster of a history, as far as the file shows it: the most GPUs in use at once, on nodes
// with as many GPUs as any job had on one. From sacct's output with the columns Start and
// AllocTRES.
struct InferredCluster {
    int nodes = 0, gpus_per_node = 0;  // 0: the file does not show it
    int most_in_use = 0;
};
[[nodiscard]] InferredCluster inferred_cluster(const std::string &path);

// The header determines the format: Pollux (name,time,application,…), ElasticFlow
// (job_id,submission_time,duration,num_gpu), `sacct -P` (JobID|…), or SWF (*.swf, comments with
// ';'). Throws InputError with file and line.
[[nodiscard]] Workload read_workload(const std::string &path, const WorkloadOptions &options);

// Gives every application its own restart cost if its jobs have none: `restart_s` times a random
// factor between 1 / (1 + spread) and 1 + spread.
void spread_restarts(Workload &workload, double restart_s, double spread, uint64_t seed);

// Makes all but a `share` of the jobs rigid, chosen at random.
void keep_malleable(Workload &workload, double share, uint64_t seed);

// Gives a job without a batch its curve, with a nominal batch that any size divides.
void set_curve(JobSpec &job, std::shared_ptr<Profile> profile);

// One workload with the jobs of all.
[[nodiscard]] Workload merge_workloads(const std::vector<Workload> &workloads);

// Each parses one format from memory. `applications` reads the measurements of one application by
// name; `tables` are throughput tables.
using ReadApplication = std::function<std::vector<TextFile>(const std::string &name)>;
[[nodiscard]] Workload parse_pollux(TextFile file, const ReadApplication &applications,
                                    const WorkloadOptions &options);
[[nodiscard]] Workload parse_elasticflow(TextFile file, std::vector<TextFile> tables,
                                         const WorkloadOptions &options);
[[nodiscard]] Workload parse_sacct(TextFile file, const WorkloadOptions &options);
[[nodiscard]] Workload parse_swf(const TextFile &file, const WorkloadOptions &options);

}  // namespace ringrt::sim
