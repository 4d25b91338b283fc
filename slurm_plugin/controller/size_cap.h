// SPDX-License-Identifier: BSD-3-Clause
// What keeps a job below its MAX, whatever it would gain from a larger size: the most GPUs by each
// reason; nullopt: it does not limit the job. Pure.
#pragma once

#include <optional>

#include "slurm_plugin/controller/applications.h"
#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

// What the nodes that the job may use can give it in even shares.
[[nodiscard]] std::optional<int> evenly_shared_size(const MalleableJob &job,
                                                    const Observation &observation,
                                                    const Pool &pool);

// What shared limits allow. A job that is pending for its first GPUs gets MIN.
[[nodiscard]] std::optional<int> allowed_size(const MalleableJob &job, const Options &options);

// The most GPUs with which a job starts first if its application was never measured: as many as its
// script requests, or a node's if that requests none. Its speed above them is a guess, and a job
// that starts too large never measures the smaller sizes.
[[nodiscard]] std::optional<int> unmeasured_size(const MalleableJob &job,
                                                 const Application &application, const Pool &pool);

// The most GPUs to which a job grows: four times as many as it or its application was measured at.
// Until its first speed is known, but for no longer than min_resize_interval_s after its start, it
// stays at its size; if it reports none, it may have any size later.
[[nodiscard]] std::optional<int> measured_reach(const MalleableJob &job,
                                                const Application &application, double now_s,
                                                const Options &options);

}  // namespace ringrt::controller
