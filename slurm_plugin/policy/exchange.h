// SPDX-License-Identifier: BSD-3-Clause
// Where greedy growth falls short: GPUs that no job's next step fits, or that are split over nodes.
//
// One job gives some of its GPUs back, and all that is free then is given anew by the same greedy
// rule; the exchange that gains the most is made, a few times. Tried only where the decision may be
// more than kWorthwhile below the bound that the greedy itself proves, and only among few jobs: of
// many, one job's last step is a small share of the whole.
#pragma once

#include "slurm_plugin/policy/proposal.h"

namespace ringrt::policy {

void exchange(const Ladders &ladders, const Capacity &capacity, Proposal &proposal);

}  // namespace ringrt::policy
