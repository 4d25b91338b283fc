// SPDX-License-Identifier: BSD-3-Clause
// How fast a job steps at any size: measured by itself at the sizes it has run at, by others of its
// application at others, and planned by its exchange of gradients at the rest.
#pragma once

#include "model/speed.h"
#include "slurm_plugin/controller/applications.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::controller {

[[nodiscard]] model::SpeedModel speed_of(const records::Telemetry &telemetry,
                                         const Application &application = {});
// Of a job that has measured nothing yet; the default curve where nobody has.
[[nodiscard]] model::SpeedModel speed_of(const Application &application);

}  // namespace ringrt::controller
