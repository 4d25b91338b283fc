// SPDX-License-Identifier: BSD-3-Clause
// What keeps a job below its MAX, whatever it would gain from a larger size. Pure.
#pragma once

#include <optional>

#include "slurm_plugin/controller/applications.h"
#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::controller {

// What the nodes that the job may use can give it in even shares.
void cap_by_reach(const Observation &observation, const Pool &pool, const MalleableJob &of,
                  policy::Job &job);

// What shared limits allow. A job that is pending for its first GPUs gets MIN.
void cap_by_limits(const MalleableJob &of, const Options &options, policy::Job &job);

// The most GPUs with which a job starts first if its application was never measured: as many as its
// script requests, or a node's if that requests none. Its speed above them is a guess, and a job
// that starts too large never measures the smaller sizes. nullopt: it was measured, or has run.
[[nodiscard]] std::optional<int> unmeasured_size(const MalleableJob &job,
                                                 const Application &application, const Pool &pool);

// The most GPUs to which a job grows: four times as many as it or its application was measured at.
// Until its first speed is known, but for no longer than min_resize_interval_s after its start, it
// stays at its size. nullopt: it reports none.
[[nodiscard]] std::optional<int> measured_reach(const MalleableJob &job,
                                                const Application &application, double now_s,
                                                const Options &options);

}  // namespace ringrt::controller
