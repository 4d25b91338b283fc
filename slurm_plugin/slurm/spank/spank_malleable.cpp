// SPDX-License-Identifier: GPL-2.0-or-later
// The SPANK plugin `malleable`: only Slurm's entry points.
//
// sbatch, salloc, srun   spank_submit.cpp   takes the options, passes them to job_submit/malleable
// srun                   spank_record.cpp   records its call, for extensions
// slurmstepd             spank_step.cpp     fixes the environment of the job's script and ranks
//                        spank_channel.cpp  connects the ranks with Slurm
//                        spank_notice.cpp     reports a resize in the job's output
//
// No function here ever returns an error: a plugin that does can make every job on a cluster fail.
#include <exception>

#include "slurm_plugin/slurm/slurm_compat.h"
#include "slurm_plugin/slurm/spank/spank_contexts.h"

namespace {

template <typename Work>
int guarded(Work work) noexcept {
    try {
        work();
    } catch (const std::exception &error) {
        slurm_error("malleable: %s; the job continues without the plugin", error.what());
    } catch (...) {
        slurm_error("malleable: unknown failure; the job continues without the plugin");
    }
    return ESPANK_SUCCESS;
}

}  // namespace

extern "C" {

extern RINGRT_PLUGIN_SYMBOL const char plugin_name[] = "malleable";
extern RINGRT_PLUGIN_SYMBOL const char plugin_type[] = "spank";
extern RINGRT_PLUGIN_SYMBOL const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern RINGRT_PLUGIN_SYMBOL const unsigned int spank_plugin_version = 1;

RINGRT_PLUGIN_SYMBOL int slurm_spank_init(spank_t spank, int, char **) {
    return guarded([=] { ringrt::slurm::register_options(spank); });
}

RINGRT_PLUGIN_SYMBOL int slurm_spank_init_post_opt(spank_t spank, int, char **) {
    return guarded([=] { ringrt::slurm::forward_options(spank); });
}

RINGRT_PLUGIN_SYMBOL int slurm_spank_local_user_init(spank_t spank, int, char **) {
    return guarded([=] { ringrt::slurm::record_srun(spank); });
}

RINGRT_PLUGIN_SYMBOL int slurm_spank_user_init(spank_t spank, int, char **) {
    return guarded([=] { ringrt::slurm::open_channel(spank); });
}

RINGRT_PLUGIN_SYMBOL int slurm_spank_task_init(spank_t spank, int, char **) {
    return guarded([=] { ringrt::slurm::fix_environment(spank); });
}

RINGRT_PLUGIN_SYMBOL int slurm_spank_task_post_fork(spank_t spank, int, char **) {
    return guarded([=] {
        ringrt::slurm::serve_channel(spank);
        ringrt::slurm::report_restart(spank);
    });
}

RINGRT_PLUGIN_SYMBOL int slurm_spank_task_exit(spank_t spank, int, char **) {
    return guarded([=] { ringrt::slurm::report_resize(spank); });
}

RINGRT_PLUGIN_SYMBOL int slurm_spank_exit(spank_t, int, char **) {
    return guarded([] {
        ringrt::slurm::close_channel();
        ringrt::slurm::forget_srun();
    });
}

}  // extern "C"
