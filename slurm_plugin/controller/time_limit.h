// SPDX-License-Identifier: BSD-3-Clause
// A job's time limit counts across its resizes (faults F29): a resize adds no time. A requeue that
// the controller did not ask for gives a full limit, as in stock Slurm: jobs that requeue
// themselves before their time limit depend on it.
#pragma once

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

// For a running job: its limit, and its start as if it had never been suspended.
void note_times(const JobRecord &record, records::Intent &intent);

// The time limit of a pending job whose last run ended at stopped_s: the remaining time after a
// resize, the full limit after another requeue. No value: leave the limit as the record has it.
[[nodiscard]] std::optional<int64_t> carry_time_limit(const JobRecord &record, bool is_resizing,
                                                      double stopped_s, records::Intent &intent);

}  // namespace ringrt::controller
