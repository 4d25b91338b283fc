// SPDX-License-Identifier: BSD-3-Clause
// Schedulers that the literature compares with, as functions of the same shape as our own. Each
// file's head explains its algorithm, its guarantees and its source. They give sizes off the ladder
// and stop jobs outright, so that only ringsim runs them, never the plugin.
#pragma once

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

[[nodiscard]] std::vector<Allotment> decide_fifo(std::span<const Job>, const Capacity &,
                                                 const Options &);
[[nodiscard]] std::vector<Allotment> decide_srtf(std::span<const Job>, const Capacity &,
                                                 const Options &);
[[nodiscard]] std::vector<Allotment> decide_tiresias(std::span<const Job>, const Capacity &,
                                                     const Options &);
[[nodiscard]] std::vector<Allotment> decide_optimus(std::span<const Job>, const Capacity &,
                                                    const Options &);
[[nodiscard]] std::vector<Allotment> decide_afs(std::span<const Job>, const Capacity &,
                                                const Options &);

// The size a rigid policy gives: what was asked for, or the most that was allowed.
[[nodiscard]] int rigid_size(const Job &job);
[[nodiscard]] int total_gpus(const Capacity &capacity);  // nodes that take nobody count nothing
// Every job down `order` (indices into jobs) that still fits gets its rigid size, the others none.
[[nodiscard]] std::vector<Allotment> give_in_order(std::span<const Job> jobs,
                                                   std::span<const std::size_t> order,
                                                   const Capacity &capacity);

}  // namespace ringrt::policy
