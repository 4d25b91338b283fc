// SPDX-License-Identifier: BSD-3-Clause
// How fast a job steps at any size, from what its telemetry says: measured at the sizes it has run
// at, and planned by its exchange of gradients at others.
#pragma once

#include "model/speed.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::controller {

[[nodiscard]] model::SpeedModel speed_of(const records::Telemetry &telemetry);

}  // namespace ringrt::controller
