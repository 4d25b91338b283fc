// SPDX-License-Identifier: BSD-3-Clause
// A job that fails soon after a resize: its script may not be able to run at that size (steps with
// --gpus of their own, a batch that does not fit). It goes back to the size that it ran with before
// and its range is narrowed, in its record, so that it meets the other size no more. One that fails
// there, too, has failed. So a range of N sizes ends a broken program after N runs at most.
#pragma once

#include <optional>

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

struct Probation {
    int good = 0;  // the size before
    int bad = 0;   // at which it failed

    bool operator==(const Probation &) const = default;
};

// Of a job that was resized and has failed by itself within a minute after a start, or before it
// told of a step. None: its end stands.
[[nodiscard]] std::optional<Probation> probation_of(const JobRecord &record);

// May the job, which waits, still meet that size?
[[nodiscard]] bool is_to_narrow(const MalleableJob &job, const Probation &probation);
[[nodiscard]] Action narrow_range(const MalleableJob &job, const Probation &probation);

}  // namespace ringrt::controller
