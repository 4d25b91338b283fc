// SPDX-License-Identifier: BSD-3-Clause
// A job's time limit counts over all its runs (faults F29): a resize gives it no time.
#pragma once

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

// Of a running job: its limit, and its start as if it had never been suspended.
void note_times(const JobRecord &record, records::Intent &intent);

// Of a waiting job, whose last run ended at stopped_s: what remains, where the record shows another
// limit.
[[nodiscard]] std::optional<int64_t> carry_time_limit(const JobRecord &record, double stopped_s,
                                                      records::Intent &intent);

}  // namespace ringrt::controller
