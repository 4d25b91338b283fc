// SPDX-License-Identifier: BSD-3-Clause
// `ringbench train`: replays a gradient profile under every grouping rule and sets the measured
// iteration time beside the predicted one. Computation is slept; gradients are sent for real.
#pragma once

namespace ringrt::bench {

// One rank; argv[0] is "train". The exit status.
int train(int argc, char **argv);

}  // namespace ringrt::bench
