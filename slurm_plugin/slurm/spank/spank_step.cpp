// SPDX-License-Identifier: GPL-2.0-or-later
// The SPANK plugin in slurmstepd.
#include <optional>
#include <string>
#include <variant>

#include "slurm_plugin/records/extension.h"
#include "slurm_plugin/records/fields.h"
#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "slurm_plugin/slurm/spank/sbatch_flags.h"
#include "slurm_plugin/slurm/spank/spank_contexts.h"
#include "slurm_plugin/slurm/spank/step_variables.h"

namespace ringrt::slurm {
namespace {

std::optional<std::string> job_variable(spank_t spank, const char *name) {
    char buffer[2 * records::kFlagBytesMax + 2];
    if (spank_getenv(spank, name, buffer, sizeof buffer) != ESPANK_SUCCESS) return std::nullopt;
    return std::string(buffer);
}

void set(spank_t spank, const char *name, const std::string &value) {
    spank_setenv(spank, name, value.c_str(), 1);
}

bool is_present(spank_t spank, const char *name) {
    char present[2];
    return spank_getenv(spank, name, present, sizeof present) != ESPANK_ENV_NOEXIST;
}

void set_where_present(spank_t spank, const char *name, const std::string &value) {
    if (is_present(spank, name)) set(spank, name, value);
}

int value_or(const std::variant<int, records::FlagError> &parsed, int otherwise) {
    const int *value = std::get_if<int>(&parsed);
    return value != nullptr ? *value : otherwise;
}

// The range as given, the signal as a number, the grace time in seconds.
void set_library_environment(spank_t spank, const std::string &range) {
    const records::Intent defaults;
    const auto signal = job_variable(spank, kFlags[1].in_job);
    const auto grace = job_variable(spank, kFlags[2].in_job);
    set(spank, kForLibrary[0], range);
    set(spank, kForLibrary[1],
        std::to_string(signal ? value_or(records::parse_signal(*signal), defaults.signal)
                              : defaults.signal));
    set(spank, kForLibrary[2],
        std::to_string(grace ? value_or(records::parse_grace(*grace), defaults.grace_s)
                             : defaults.grace_s));
}

bool is_batch_step(spank_t spank) {
    uint32_t step = 0;
    return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step == SLURM_BATCH_SCRIPT;
}

// A list of nodes may be longer: its beginning names the first node.
std::string long_variable(spank_t spank, const char *name) {
    char buffer[4096] = "";
    const spank_err_t error = spank_getenv(spank, name, buffer, sizeof buffer);
    return error == ESPANK_SUCCESS || error == ESPANK_NOSPACE ? std::string(buffer) : std::string();
}

uint32_t count_in(spank_t spank, const char *name) {
    uint32_t count = 0;
    const auto text = job_variable(spank, name);
    return text && records::read_into(*text, 0, records::kGpusMax, count) ? count : 0;
}

bool has_task_per_node(spank_t spank) { return job_variable(spank, kLayoutInJob) == kTaskPerNode; }

// "a100:4" becomes "a100:2"
void set_count(spank_t spank, const char *name, uint32_t count) {
    const auto present = job_variable(spank, name);
    if (!present) return;
    const std::size_t colon = present->rfind(':');
    const std::string kind =
        colon == std::string::npos ? std::string() : present->substr(0, colon + 1);
    set(spank, name, kind + std::to_string(count));
}

// Slurm fills these from the submission, even if the job runs at another size. Variables that
// describe a node are removed if the nodes differ.
void set_task_counts(spank_t spank) {
    const uint32_t tasks = number_of(spank, S_JOB_TOTAL_TASK_COUNT);
    const uint32_t nodes = count_in(spank, "SLURM_JOB_NUM_NODES");  // here SPANK reports only one
    if (tasks == 0) return;
    const uint32_t gpus_on_node = count_in(spank, "SLURM_GPUS_ON_NODE");
    const uint32_t gpus = has_task_per_node(spank) ? gpus_on_node * nodes : tasks;
    set(spank, "SLURM_NTASKS", std::to_string(tasks));
    set(spank, "SLURM_NPROCS", std::to_string(tasks));
    if (gpus > 0) set_count(spank, "SLURM_GPUS", gpus);
    if (nodes == 0 || tasks % nodes != 0) {
        for (const char *name : {"SLURM_NTASKS_PER_NODE", "SLURM_GPUS_PER_NODE"})
            spank_unsetenv(spank, name);
        return;
    }
    set_where_present(spank, "SLURM_NTASKS_PER_NODE", std::to_string(tasks / nodes));
    if (gpus > 0) set_count(spank, "SLURM_GPUS_PER_NODE", gpus / nodes);
    if (gpus > 0) set_count(spank, "SLURM_GPUS_PER_TASK", gpus / tasks);
}

// The user's values stay. Values that an enclosing step's SPANK set are replaced. So are all in an
// extension: the inherited ones describe its base, with a port in use and another node's address.
void set_step_variables(spank_t spank, bool is_extension) {
    TaskPlace place{.job_id = number_of(spank, S_JOB_ID),
                    .step_id = number_of(spank, S_JOB_STEPID),
                    .restarts = count_in(spank, "SLURM_RESTART_COUNT"),
                    .rank = number_of(spank, S_TASK_GLOBAL_ID),
                    .tasks = number_of(spank, S_JOB_TOTAL_TASK_COUNT),
                    .local_tasks = number_of(spank, S_JOB_LOCAL_TASK_COUNT),
                    .nodes = number_of(spank, S_JOB_NNODES),
                    .node_list = long_variable(spank, "SLURM_STEP_NODELIST"),
                    .launch_address = job_variable(spank, "SLURM_LAUNCH_NODE_IPADDR").value_or(""),
                    .task_per_node = has_task_per_node(spank)};
    int local_rank = 0;
    if (spank_get_item(spank, S_TASK_ID, &local_rank) != ESPANK_SUCCESS || local_rank < 0) return;
    place.local_rank = static_cast<uint32_t>(local_rank);
    const std::string ours = job_variable(spank, kSetBySpank).value_or("");
    std::string set_now;
    for (const auto &[name, value] : step_variables(place)) {
        const bool is_slurms = name.starts_with("SLURM_");
        const bool is_users = !is_slurms && !is_extension && !is_listed(ours, name);
        if (is_users && is_present(spank, name.c_str())) continue;
        set(spank, name.c_str(), value);
        if (is_slurms) continue;
        set_now += (set_now.empty() ? "" : ",") + name;
    }
    set(spank, kSetBySpank, set_now);
}

}  // namespace

void fix_environment(spank_t spank) {
    const auto range = job_variable(spank, kFlags[0].in_job);
    const bool is_step = number_of(spank, S_JOB_STEPID) < SLURM_MAX_NORMAL_STEP_ID;
    if (!range && is_step && is_present(spank, records::kExtends)) set_step_variables(spank, true);
    if (!range || !std::holds_alternative<records::GpuRange>(records::parse_range(*range))) return;
    set_library_environment(spank, *range);
    if (is_batch_step(spank))
        set_task_counts(spank);
    else if (is_step)
        set_step_variables(spank, false);
}

}  // namespace ringrt::slurm
