// SPDX-License-Identifier: GPL-2.0-or-later
// The facts that sched/doubling provides to job_submit/malleable. Both are plugins of one
// slurmctld. A job_submit plugin runs under slurmctld's locks and must not query Slurm itself. So
// the scheduler's thread keeps these few facts, and the other plugin finds the functions by name
// (RTLD_NOLOAD). If sched/doubling is not loaded, it reads the files of ringrtd (facts_file.h).
#pragma once

#include <cstddef>
#include <cstdint>

struct RingrtPartitionView {
    int32_t hold_s;         // soft hold for a new job; 0: none, the controller does not act
    int32_t gpus_in_all;    // the most GPUs that one job can have in the partition; 0: unknown
    int32_t gpus_per_node;  // of its largest node
    int32_t nodes;          // with GPUs, as many as one job can have
    int32_t whole_nodes;    // 1: it allocates whole nodes (OverSubscribe=EXCLUSIVE)
};

extern "C" {
// Returns 0 on success. `partition` may be null: the default one. Holds a mutex for microseconds.
using RingrtPartitionViewFn = int (*)(const char *partition, RingrtPartitionView *out);
// Copies the last observed record of a malleable job, by a name of known_intents(). 0: success.
using RingrtIntentTextFn = int (*)(const char *job, char *out, std::size_t size);
}

// Replaces a record: the name belongs to an array whose tasks have their own records.
inline constexpr char kManyJobs[] = "array";

inline constexpr char kSchedObject[] = "sched_doubling.so";
inline constexpr char kPartitionViewName[] = "ringrt_partition_view";
inline constexpr char kIntentTextName[] = "ringrt_intent_text";
