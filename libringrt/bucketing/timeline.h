// SPDX-License-Identifier: BSD-3-Clause
// The exact event simulation of one steady-state iteration under a plan.
//
// Time 0 is the start of the backward pass. Gradients become ready at ready_us; the link sends the
// plan's blocks one by one, or, with parameter servers, the pushes one by one and the pulls one by
// one; from the end of the backward pass on layer after layer of the next
// forward pass runs, each as soon as the one before has ended and its own gradient is complete.
// Every gradient is needed by some layer, so all is sent when the forward pass ends: one iteration
// never reaches into the next.
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
    std::vector<Span> blocks;         // of the plan's blocks, in its order
    std::vector<Span> layers;         // of the forward pass
    std::vector<double> reduced_us;   // per gradient: the end of the last reduce-scatter of it
    std::vector<double> complete_us;  // per gradient: all its bytes gathered; 0 where it has none
    double iteration_us = 0;          // from one backward pass to the next
    double wait_us = 0;               // of it, the forward pass waits
    double link_busy_us = 0;          // with servers, the mean of both directions
    double sent_bytes = 0;            // by each rank
};

// `plan` must be one in which fault_of() finds nothing.
[[nodiscard]] Timeline simulate(const Profile &profile, const Network &network, const Plan &plan);

// The same, into memory that was used before.
void simulate(const Profile &profile, const Network &network, const Plan &plan, Timeline &out);

}  // namespace ringrt::bucketing
