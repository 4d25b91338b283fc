// SPDX-License-Identifier: BSD-3-Clause
// When to decide on resizes: at once if a job arrives, ends or changes its size, otherwise every
// interval_s, so that small changes in telemetry do not trigger resizes. A rigid job arrives twice:
// in the queue, and when Slurm has found no room for it, because only then it is due GPUs. The end
// of a rigid job counts only while other jobs are pending, because it may have blocked them.
#pragma once

#include <utility>
#include <vector>

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

class DecisionClock {
  public:
    // Call in each pass. True: a decision is due, and the interval restarts.
    bool is_time(const Observation &observation, const std::vector<MalleableJob> &jobs,
                 double interval_s, double now_s) {
        std::vector<Present> present;
        for (const MalleableJob &job : jobs)
            present.push_back({job.record->id, job.record->gpus_requested, job.record->phase});
        const std::size_t malleable = present.size();
        for (const JobRecord &record : observation.jobs)
            if (record.phase == JobPhase::pending && record.gpus_requested > 0)
                present.push_back({record.id, 0, JobPhase::pending,
                                   !record.intent && waits_for_room(record, observation.now_s)});
        if (present.size() > malleable)
            for (const JobRecord &record : observation.jobs)
                if (!record.intent && !record.gpus_on_node.empty())
                    present.push_back({record.id, 0, JobPhase::running});
        if (present == present_ && !is_over(interval_s, now_s)) return false;
        present_ = std::move(present);
        decided_s_ = now_s;
        return true;
    }
    [[nodiscard]] bool is_over(double interval_s, double now_s) const {
        return age_s(decided_s_, now_s) >= interval_s;
    }

  private:
    struct Present {
        uint32_t id = 0;
        int gpus = 0;
        JobPhase phase = JobPhase::pending;
        bool has_no_room = false;
        bool operator==(const Present &) const = default;
    };
    std::vector<Present> present_;
    double decided_s_ = 0;  // Unix time
};

}  // namespace ringrt::controller
