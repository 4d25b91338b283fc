// SPDX-License-Identifier: GPL-2.0-or-later
// The data that the scheduler's thread publishes to job_submit/malleable (sched_view.h). Its mutex
// is held only for microseconds.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "slurm_plugin/slurm/host/known_intents.h"
#include "slurm_plugin/slurm/host/sched_view.h"

namespace ringrt::slurm {

class SchedFacts {
  public:
    void publish(const SlurmCluster &cluster, int hold_s, bool keeps_records);
    [[nodiscard]] bool partition(const char *name, RingrtPartitionView *out);
    [[nodiscard]] bool intent_text(const char *job, char *out, std::size_t size);

  private:
    std::mutex mutex_;
    std::map<std::string, PartitionLimits, std::less<>> partitions_;
    KnownIntents intents_;
    int hold_s_ = 0;
    bool keeps_records_ = true;
    uint64_t version_ = 0;  // of the published observation; used only by the publishing thread
};

}  // namespace ringrt::slurm
