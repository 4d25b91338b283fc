// SPDX-License-Identifier: BSD-3-Clause
// A job that fails soon after a resize: its script may not be able to run at that size (steps with
// --gpus of their own, a batch that does not fit). It returns to its previous size, and its record
// narrows its range so that it never gets the bad size again. If it fails there as well, it has
// failed. So a broken program with a range of N sizes ends after at most N runs.
#pragma once

#include <optional>

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

struct Probation {
    int good = 0;  // the previous size
    int bad = 0;   // the size at which it failed

    bool operator==(const Probation &) const = default;
};

// For a job that was resized and failed by itself within a minute of a start, or before it reported
// a step. None: its end stands.
[[nodiscard]] std::optional<Probation> probation_of(const JobRecord &record);

// Whether the pending job can still get that size.
[[nodiscard]] bool must_narrow(const MalleableJob &job, const Probation &probation);
[[nodiscard]] Action narrow_range(const MalleableJob &job, const Probation &probation);

}  // namespace ringrt::controller
