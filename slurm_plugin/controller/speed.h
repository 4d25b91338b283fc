// SPDX-License-Identifier: BSD-3-Clause
// A job's step speed at any size: its own measurements at sizes where it ran, those of its
// application at other sizes, and the prediction of its gradient exchange at the rest.
#pragma once

#include "model/speed.h"
#include "slurm_plugin/controller/applications.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::controller {

[[nodiscard]] model::SpeedModel speed_of(const records::Telemetry &telemetry,
                                         const Application &application = {});
// For a job without measurements; the default curve if its application has none either.
[[nodiscard]] model::SpeedModel speed_of(const Application &application);

}  // namespace ringrt::controller
