// SPDX-License-Identifier: BSD-3-Clause
// A job's time limit counts over its resizes (faults F29): they give it no time. A requeue that
// nobody here has asked for brings a fresh one, as in stock Slurm: jobs that requeue themselves
// before their time is over live by it.
#pragma once

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

// Of a running job: its limit, and its start as if it had never been suspended.
void note_times(const JobRecord &record, records::Intent &intent);

// Of a waiting job, whose last run ended at stopped_s: what remains after a resize, all of it after
// another requeue; where the record shows another limit.
[[nodiscard]] std::optional<int64_t> carry_time_limit(const JobRecord &record, bool is_resizing,
                                                      double stopped_s, records::Intent &intent);

}  // namespace ringrt::controller
