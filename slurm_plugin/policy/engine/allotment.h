// SPDX-License-Identifier: BSD-3-Clause
// From the sizes that were decided to allotments: why each job got its size, and what would change
// it.
#pragma once

#include <vector>

#include "slurm_plugin/policy/engine/size_table.h"

namespace ringrt::policy {

// `levels` by rank; `present_fits`: all could have stayed as they are. In the order of the input.
[[nodiscard]] std::vector<Allotment> allotments(const SizeTable &table,
                                                const std::vector<Level> &levels,
                                                const Capacity &capacity, bool present_fits,
                                                const Options &options);

}  // namespace ringrt::policy
