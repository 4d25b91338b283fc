// SPDX-License-Identifier: GPL-2.0-or-later
// The SPANK plugin in sbatch, salloc and srun.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "slurm_plugin/slurm/spank/sbatch_flags.h"
#include "slurm_plugin/slurm/spank/spank_contexts.h"
#include "slurm_plugin/slurm/spank/step_variables.h"

namespace ringrt::slurm {
namespace {

// Longer than any valid value, so that slurmctld still refuses a truncated one.
constexpr std::size_t kValueBytesMax = 2 * records::kFlagBytesMax;

// Set by Slurm's option parser through a C callback, so it cannot be local. Plain arrays: no
// constructor runs when the plugin is loaded.
struct Given {
    bool is_set;
    char value[kValueBytesMax + 1];
};
Given given[kFlags.size()];

constexpr char kNoArgument[] = "1";  // the value of a flag without an argument

int take_option(int index, const char *value, int remote) {
    if (remote != 0 || index < 0 || index >= static_cast<int>(kFlags.size())) return ESPANK_SUCCESS;
    Given &slot = given[index];
    slot.is_set = true;
    std::strncpy(slot.value, value != nullptr ? value : kNoArgument, kValueBytesMax);
    return ESPANK_SUCCESS;
}

const char *const kArgument[] = {"MIN:MAX", "NUM|NAME", "TIME", nullptr};
const char *const kUsage[] = {
    "let the scheduler resize the job between MIN and MAX GPUs (MIN, 2 MIN, 4 MIN, ...) while it "
    "trains",
    "signal on which the job saves and requeues (default URG)",
    "how long the job may take to save before the resize is called off (default 2 minutes)",
    "let the scheduler also pause the job, which saves, leaves its GPUs and continues later",
};

bool is_sbatch() { return std::strcmp(program_invocation_short_name, "sbatch") == 0; }

// SBATCH_... variables apply only to sbatch. An option on the command line overrides them.
const char *value_of(std::size_t flag) {
    if (given[flag].is_set) return given[flag].value;
    return is_sbatch() ? std::getenv(kFlags[flag].variable) : nullptr;
}

// A job submitted from inside a malleable job must not inherit its flags.
void unset_inherited_flags() {
    for (const FlagName &flag : kFlags) {
        unsetenv(flag.in_job);
        unsetenv(flag.forwarded);
    }
    for (const char *name : kForLibrary) unsetenv(name);
    unsetenv(kLayoutInJob);
    // Variables of the submitting task.
    const char *ours = std::getenv(kSetBySpank);
    if (ours == nullptr) return;
    for (const char *name : kStepVariables)
        if (is_listed(ours, name)) unsetenv(name);
    unsetenv(kSetBySpank);
}

// "lua,malleable" has it. So has a slurmctld that does not answer: sbatch itself will then fail.
bool has_job_submit() {
    slurm_conf_t *conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr) return true;
    const std::string listed =
        "," + std::string(conf->job_submit_plugins != nullptr ? conf->job_submit_plugins : "") +
        ",";
    free_conf(conf);
    return listed.find(",malleable,") != std::string::npos ||
           listed.find("/malleable,") != std::string::npos;
}

// Without it, slurmctld ignores the range, and the job would run without any GPU.
bool can_be_malleable() {
    if (has_job_submit()) return true;
    if (!given[0].is_set) {
        slurm_error(
            "malleable: this cluster's slurmctld does not support malleable jobs: SBATCH_MALLEABLE "
            "is ignored, the job gets the GPUs that its other options request");
        return false;
    }
    slurm_error(
        "--malleable: this cluster's slurmctld does not support malleable jobs (JobSubmitPlugins "
        "in slurm.conf lacks malleable): use --gpus=N instead");
    std::exit(1);  // an optional plugin's error would be ignored
}

}  // namespace

void register_options(spank_t spank) {
    if (spank_context() == S_CTX_ALLOCATOR) unset_inherited_flags();
    for (std::size_t i = 0; i < kFlags.size(); ++i) {
        spank_option option{};
        option.name = const_cast<char *>(kFlags[i].option);
        option.arginfo = const_cast<char *>(kArgument[i]);
        option.usage = const_cast<char *>(kUsage[i]);
        option.has_arg = kArgument[i] != nullptr;
        option.val = static_cast<int>(i);
        option.cb = take_option;
        spank_option_register(spank, &option);
    }
}

void forward_options(spank_t spank) {
    const spank_context_t context = spank_context();
    if (context != S_CTX_ALLOCATOR && context != S_CTX_LOCAL) return;
    const bool is_malleable = value_of(0) != nullptr;
    if (is_malleable && context == S_CTX_ALLOCATOR && !can_be_malleable()) return;
    for (std::size_t i = 0; i < kFlags.size(); ++i) {
        const char *value = value_of(i);
        // A variable in the user's profile configures malleable jobs only, so it is dropped for a
        // rigid job. An option for a rigid job is a mistake, which slurmctld reports.
        if (value == nullptr || (!is_malleable && !given[i].is_set)) continue;
        const std::string bounded(value, strnlen(value, kValueBytesMax));
        spank_job_control_setenv(spank, kFlags[i].control, bounded.c_str(), 1);
    }
    if (is_malleable) spank_job_control_setenv(spank, kLayoutControl, kTaskPerGpu, 1);
}

}  // namespace ringrt::slurm
