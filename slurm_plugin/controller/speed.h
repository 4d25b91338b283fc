// SPDX-License-Identifier: BSD-3-Clause
// A job's step speed at any size: its own measurements at sizes where it ran, those of its
// application at other sizes, and a model of both and of its gradient exchange at the rest.
#pragma once

#include "model/speed.h"
#include "slurm_plugin/controller/applications.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::controller {

// Step times that need no model: the job's own, and those of its application at other sizes, scaled
// to it. None without a batch: jobs of one name may then be different programs, and what they
// measured, mixed, is only good for the model.
[[nodiscard]] std::vector<model::SpeedSample> measured_speeds(const records::Telemetry &telemetry,
                                                              const Application &application);
[[nodiscard]] std::vector<model::SpeedSample> measured_speeds(const Application &application);

// The largest size at which the job or its application was measured; 0: none.
[[nodiscard]] int largest_measured(const records::Telemetry &telemetry,
                                   const Application &application);
[[nodiscard]] int largest_measured(const Application &application);

// The model for all other sizes.
[[nodiscard]] model::SpeedModel speed_of(const records::Telemetry &telemetry,
                                         const Application &application = {});
// For a job without measurements; the default curve if its application has none either.
[[nodiscard]] model::SpeedModel speed_of(const Application &application);

}  // namespace ringrt::controller
