// SPDX-License-Identifier: GPL-2.0-or-later
// All differences between the supported Slurm versions, 22.05 to 26.11, and the few functions that
// Slurm exports without declaring them in a public header.
#pragma once

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <csignal>
#include <cstdint>

#define RINGRT_SLURM_AT_LEAST(major, minor) \
    (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

// A symbol that Slurm's plugin loader looks up; everything else stays hidden.
#define RINGRT_PLUGIN_SYMBOL __attribute__((visibility("default")))

extern "C" {
// Strings passed to Slurm must come from its own allocator: Slurm frees them.
char *slurm_xstrdup(const char *text);
void slurm_xfree(void **pointer);
void slurm_free_will_run_response_msg(will_run_response_msg_t *answer);
int32_t slurm_bit_set_count(bitstr_t *bitmap);
void slurm_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void slurm_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
}

namespace ringrt::slurm {

// ESLURM_JOB_SETTING_DB_INX by number: newer versions leave a gap in its place.
inline constexpr int kSettingDbIndex = 2103;

// "limits" and "safe" of AccountingStorageEnforce (ACCOUNTING_ENFORCE_* are in no public header).
inline constexpr uint16_t kEnforceLimits = 1 << 1, kEnforceSafe = 1 << 4;

// The spelling of --gpus in job_desc_msg_t.tres_per_job.
#if RINGRT_SLURM_AT_LEAST(23, 11)
inline constexpr char kGpuTres[] = "gres/gpu";
#else
inline constexpr char kGpuTres[] = "gres:gpu";
#endif

inline void set_job_id(job_desc_msg_t &job, uint32_t id) {
#if RINGRT_SLURM_AT_LEAST(25, 11)
    job.step_id.job_id = id;
#else
    job.job_id = id;
#endif
}

inline uint32_t job_id_of(const job_desc_msg_t &job) {
#if RINGRT_SLURM_AT_LEAST(25, 11)
    return job.step_id.job_id;
#else
    return job.job_id;
#endif
}

inline uint32_t job_id_of(const slurm_job_info_t &job) {
#if RINGRT_SLURM_AT_LEAST(25, 11)
    return job.step_id.job_id;
#else
    return job.job_id;
#endif
}

inline slurm_step_id_t step_of(uint32_t job_id, uint32_t step) {
    slurm_step_id_t id{};
    id.job_id = job_id;
    id.step_id = step;
    id.step_het_comp = NO_VAL;
    return id;
}

// One job's record. Without SHOW_LOCAL, Slurm first queries the federation: a second RPC.
inline int load_job(uint32_t job_id, job_info_msg_t **out) {
    constexpr uint16_t kShow = SHOW_ALL | SHOW_DETAIL | SHOW_LOCAL;
#if RINGRT_SLURM_AT_LEAST(26, 5)
    return slurm_load_job(out, step_of(job_id, NO_VAL), kShow);
#else
    return slurm_load_job(out, job_id, kShow);
#endif
}

inline int load_steps(uint32_t job_id, job_step_info_response_msg_t **steps) {
#if RINGRT_SLURM_AT_LEAST(25, 11)
    slurm_step_id_t id = step_of(job_id, NO_VAL);
    return slurm_get_job_steps(&id, steps, SHOW_ALL);
#else
    return slurm_get_job_steps(0, job_id, NO_VAL, steps, SHOW_ALL);
#endif
}

// Slurm's functions that free a listing leak some strings: in 22.05 the jobs' AdminComment, which
// every malleable job has, and the steps' command line. In versions without the leak, these find
// nullptr.
inline void free_jobs(job_info_msg_t *jobs) {
    for (uint32_t i = 0; jobs != nullptr && i < jobs->record_count; ++i)
        slurm_xfree(reinterpret_cast<void **>(&jobs->job_array[i].admin_comment));
    slurm_free_job_info_msg(jobs);
}

inline void free_steps(job_step_info_response_msg_t *steps) {
    for (uint32_t i = 0; steps != nullptr && i < steps->job_step_count; ++i)
        slurm_xfree(reinterpret_cast<void **>(&steps->job_steps[i].submit_line));
    slurm_free_job_step_info_response_msg(steps);
}

// Sent through slurmctld, which forwards the signal to the nodes: a dead node blocks no caller.
// Both take name_in_requests(): for an array task's number, slurm_kill_job() finds no job, or all
// tasks.
inline int signal_steps_of(const char *job, uint16_t signal) {
    return slurm_kill_job2(job, signal, KILL_STEPS_ONLY, nullptr);
}

inline int cancel(const char *job) { return slurm_kill_job2(job, SIGKILL, 0, nullptr); }

#if RINGRT_SLURM_AT_LEAST(26, 5)
inline int requeue(uint32_t job_id, uint32_t flags) {
    return slurm_requeue(step_of(job_id, NO_VAL), flags);
}
inline void free_conf(slurm_conf_t *conf) { slurm_free_conf(conf); }
#else
inline int requeue(uint32_t job_id, uint32_t flags) { return slurm_requeue(job_id, flags); }
inline void free_conf(slurm_conf_t *conf) { slurm_free_ctl_conf(conf); }
#endif

// Only while it runs: without JOB_RUNNING, Slurm reruns a job that has just ended with exit code 0.
inline int requeue_running(uint32_t job_id) { return requeue(job_id, JOB_RUNNING); }
inline int requeue_ended(uint32_t job_id) { return requeue(job_id, 0); }

// With exit code 0, as the job's slurmstepd would report.
inline int complete(uint32_t job_id) {
#if RINGRT_SLURM_AT_LEAST(25, 11)
    slurm_step_id_t job = step_of(job_id, NO_VAL);
    return slurm_complete_job(&job, 0);
#else
    return slurm_complete_job(job_id, 0);
#endif
}

// CPUs and MB of a node that jobs hold.
struct Allocated {
    int cpus = 0;
    uint64_t mb = 0;
};

inline Allocated allocated_on(const node_info_t &node) {
#if RINGRT_SLURM_AT_LEAST(25, 5)
    return {node.alloc_cpus, node.alloc_memory};
#else
    uint16_t cpus = 0;
    uint64_t mb = 0;
    if (node.select_nodeinfo == nullptr) return {};
    slurm_get_select_nodeinfo(node.select_nodeinfo, SELECT_NODEDATA_SUBCNT, NODE_STATE_ALLOCATED,
                              &cpus);
    slurm_get_select_nodeinfo(node.select_nodeinfo, SELECT_NODEDATA_MEM_ALLOC, NODE_STATE_ALLOCATED,
                              &mb);
    return {cpus, mb};
#endif
}

// How many nodes of a block the job takes at a time (topology/block, --segment); 0: it requests
// none.
inline int segment_of(const job_desc_msg_t &job) {
#if RINGRT_SLURM_AT_LEAST(24, 5)
    return job.segment_size == NO_VAL16 ? 0 : job.segment_size;
#else
    (void)job;
    return 0;
#endif
}

// Whether the description requests whole nodes (--exclusive). Unset fields are not 0 here.
inline bool wants_whole_nodes(const job_desc_msg_t &job) { return job.shared == JOB_SHARED_NONE; }

}  // namespace ringrt::slurm
