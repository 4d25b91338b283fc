// SPDX-License-Identifier: BSD-3-Clause
// Converts decided sizes to allotments: why each job got its size, and what would change it.
#pragma once

#include <vector>

#include "slurm_plugin/policy/engine/size_table.h"

namespace ringrt::policy {

// `levels` is by rank. `present_fits`: all jobs could have kept their sizes. Returns the order of
// the input.
[[nodiscard]] std::vector<Allotment> allotments(const SizeTable &table,
                                                const std::vector<Level> &levels,
                                                const Capacity &capacity, bool present_fits,
                                                const Options &options);

}  // namespace ringrt::policy
