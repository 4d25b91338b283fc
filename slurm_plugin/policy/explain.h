// SPDX-License-Identifier: BSD-3-Clause
// One sentence for people: why a job has this size, and what would change it.
#pragma once

#include <string>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

[[nodiscard]] std::string explain(const Job &job, const Allotment &allotment,
                                  const Options &options);

}  // namespace ringrt::policy
