// SPDX-License-Identifier: BSD-3-Clause
// Exact event simulation of one steady-state iteration under a plan.
//
// Time 0 is the start of the backward pass. Gradients become ready at ready_us. The link sends the
// plan's blocks one by one; with parameter servers, pushes one by one and pulls one by one. After
// the backward pass, the layers of the next forward pass run in order, each when the previous one
// has ended and its own gradient is complete. Some layer needs each gradient, so everything is sent
// when the forward pass ends: no iteration reaches into the next.
#pragma once

#include <vector>

#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/plan.h"

namespace ringrt::bucketing {

struct Span {
    double start_us = 0;
    double end_us = 0;
};

struct Timeline {
    std::vector<Span> blocks;         // in the plan's order
    std::vector<Span> layers;         // of the forward pass
    std::vector<double> reduced_us;   // per gradient: the end of its last reduce-scatter
    std::vector<double> complete_us;  // per gradient: all its bytes gathered; 0 if it has none
    double iteration_us = 0;          // from one backward pass to the next
    double wait_us = 0;               // the part in which the forward pass waits
    double link_busy_us = 0;          // with servers, the mean of both directions
    double sent_bytes = 0;            // by each rank
};

// fault_of() must find no fault in `plan`.
[[nodiscard]] Timeline simulate(const Profile &profile, const Network &network, const Plan &plan);

// The same, reusing the memory of `out`.
void simulate(const Profile &profile, const Network &network, const Plan &plan, Timeline &out);

}  // namespace ringrt::bucketing
