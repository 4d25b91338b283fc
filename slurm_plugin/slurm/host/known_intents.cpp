// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/known_intents.h"

#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/host/sched_view.h"

namespace ringrt::slurm {

KnownIntents known_intents(const controller::Observation &seen) {
    KnownIntents out;
    // By array: the number of tasks that a command for the whole array reaches.
    std::map<std::string, int> tasks;
    for (const controller::JobRecord &job : seen.jobs) {
        if (!job.intent || job.phase == controller::JobPhase::finished) continue;
        const std::string record = records::format_intent(*job.intent), id = std::to_string(job.id);
        out[id] = record;
        if (!job.array_task.empty()) out[job.array_task] = record;
        ++tasks[job.array_task.empty() ? id : job.array_task.substr(0, job.array_task.find('_'))];
    }
    for (const auto &[array, count] : tasks)
        if (count > 1) out[array] = kManyJobs;
    return out;
}

}  // namespace ringrt::slurm
