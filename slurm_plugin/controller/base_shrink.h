// SPDX-License-Identifier: BSD-3-Clause
// A base that is larger than the job's MIN gives up whole nodes in place (doc/live.md). Its last
// ranks leave first, and then Slurm takes their nodes: a node is never taken while ranks compute
// there. The state is in two records: the intent's `keep`, and the ranks and nodes that the job
// reports. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

// The first nodes of a job, which have exactly `gpus` of its GPUs; empty: there are none.
[[nodiscard]] std::vector<int> first_nodes(const JobRecord &record, int gpus,
                                           std::span<const NodeRecord> of);

// Whether its ranks can leave so that `gpus` stay. Its report names its nodes, so no other node is
// ever taken if its ranks are numbered in another order.
[[nodiscard]] bool can_shrink_base(const MalleableJob &job, int gpus, const JobTracker &tracker,
                                   const PassContext &pass);
[[nodiscard]] Action shrink_base(const MalleableJob &job, const Target &target,
                                 const PassContext &pass);
// While nodes leave; nullopt: none do.
[[nodiscard]] std::optional<Action> next_base_action(const MalleableJob &job,
                                                     const JobTracker &tracker,
                                                     const PassContext &pass,
                                                     const Options &options);

}  // namespace ringrt::controller
