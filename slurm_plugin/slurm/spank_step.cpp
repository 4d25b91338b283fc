// SPDX-License-Identifier: GPL-2.0-or-later
// The SPANK plugin in slurmstepd.
#include <optional>
#include <string>
#include <variant>

#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "slurm_plugin/slurm/spank_contexts.h"

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

void set_where_present(spank_t spank, const char *name, const std::string &value) {
    char present[2];
    if (spank_getenv(spank, name, present, sizeof present) != ESPANK_ENV_NOEXIST)
        set(spank, name, value);
}

int value_or(const std::variant<int, records::FlagError> &parsed, int otherwise) {
    const int *value = std::get_if<int>(&parsed);
    return value != nullptr ? *value : otherwise;
}

// The range as it was given, the signal as a number, the grace time in seconds.
void tell_library(spank_t spank, const std::string &range) {
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

// Slurm fills these from the submission, also when the job runs at another size. One task per GPU.
void set_task_counts(spank_t spank) {
    uint32_t tasks = 0;
    if (spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS || tasks == 0)
        return;
    const std::string count = std::to_string(tasks);
    set(spank, "SLURM_NTASKS", count);
    set(spank, "SLURM_NPROCS", count);
    set_where_present(spank, "SLURM_GPUS", count);
}

}  // namespace

void fix_environment(spank_t spank) {
    const auto range = job_variable(spank, kFlags[0].in_job);
    if (!range || !std::holds_alternative<records::GpuRange>(records::parse_range(*range))) return;
    tell_library(spank, *range);
    if (is_batch_step(spank)) set_task_counts(spank);
}

}  // namespace ringrt::slurm
