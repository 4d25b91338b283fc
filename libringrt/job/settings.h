// SPDX-License-Identifier: BSD-3-Clause
// A run's settings: from the program's ringrt_config_t, else the environment, else the default.
#pragma once

#include <string>

#include "libringrt/base/slurm_env.h"
#include "libringrt/base/status.h"
#include "libringrt/job/batch.h"

namespace ringrt {

struct Settings {
    int rank = 0, size = 1;
    int local_rank = -1;  // −1: detected
    std::string checkpoint_dir;
    std::string checkpoint_local;  // on each node; empty: no such level
    std::string rendezvous;
    ringrt_allgather_fn allgather = nullptr;
    void *allgather_context = nullptr;
    std::string transport;  // between nodes: "tcp" or "mpi"
    const ringrt_messenger_t *messenger = nullptr;
    BatchRule batch;
    uint64_t steps_total = 0, samples_total = 0;  // 0: unknown; at most one is set
    uint64_t seed = 0;
    uint32_t save_interval_s = 0, keep_checkpoints = 0, save_inline = 0;
    uint32_t timeout_ms = 0, start_timeout_ms = 0;
    uint32_t telemetry_s = 0;
    uint32_t leave_timeout_s = 0;  // from the requeue until the resize is called off
    uint32_t requeue_again_s = 0;  // between two requests for the requeue
    int signal = 0;
    uint64_t job = 0;      // 0: outside Slurm
    std::string job_name;  // for scontrol
    uint32_t live_resize = 0;
    uint32_t live_copy_steps = 0;
    bool is_extension = false;  // of `base_job`; implies live_resize
    uint64_t base_job = 0;
    bool extendable = false;  // with live_resize: extensions can repeat its srun
    // srun --wait: Slurm ends the step some time after its first task, so its ranks leave no node.
    bool ends_with_first_task = false;
    uint32_t restart = 0;
    std::string scontrol;
    std::string channel;  // empty: none
    std::string telemetry_file;
};

// A number that the environment may set.
struct NumberSetting {
    const char *name;
    uint32_t low, high, standard;
};
extern const NumberSetting kTimeout, kStartTimeout, kKeepCheckpoints;
// `field`: the config's value; 0: not set there.
Status read_number(const NumberSetting &setting, const Environment &environment, uint32_t &field);

// Whether this job is an extension, and of which job.
Status read_base_job(const Environment &environment, bool &is_extension, uint64_t &job);

// The directory of the job's checkpoints, absolute.
Status read_checkpoint_directory(const char *configured, const Environment &environment,
                                 uint64_t job, std::string &out);

// INVALID_ARGUMENT with the given and the expected value. `config` may be NULL.
Status resolve(const ringrt_config_t *config, const Environment &environment, Settings &out);

}  // namespace ringrt
