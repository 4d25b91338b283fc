// SPDX-License-Identifier: GPL-2.0-or-later
// What job_submit/malleable may know from sched/doubling. Both are plugins of one slurmctld; a
// job_submit plugin runs under slurmctld's locks and must not ask Slurm anything itself, so the
// scheduler's thread keeps these few facts, and the other plugin finds the functions by name
// (RTLD_NOLOAD). Where sched/doubling is not loaded, it looks for what ringrtd leaves
// (facts_file.h).
#pragma once

#include <cstddef>
#include <cstdint>

struct RingrtPartitionView {
    int32_t hold_s;         // soft hold for a new job; 0: none, the controller does not act
    int32_t gpus_in_all;    // GPUs that one job can have in the partition at most; 0: not known yet
    int32_t gpus_per_node;  // of its largest node
};

extern "C" {
// 0: filled. `partition` may be null: the default one. Takes a mutex for microseconds.
using RingrtPartitionViewFn = int (*)(const char *partition, RingrtPartitionView *out);
// Copies the record of a malleable job as last seen, by a name of known_intents(); 0: filled.
using RingrtIntentTextFn = int (*)(const char *job, char *out, std::size_t size);
}

// In the place of a record: the name is an array's whose tasks have records of their own.
inline constexpr char kManyJobs[] = "array";

inline constexpr char kSchedObject[] = "sched_doubling.so";
inline constexpr char kPartitionViewName[] = "ringrt_partition_view";
inline constexpr char kIntentTextName[] = "ringrt_intent_text";
