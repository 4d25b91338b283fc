// SPDX-License-Identifier: BSD-3-Clause
// `ringbench train`: replays a gradient profile under every grouping rule and compares the measured
// iteration time with the predicted one. Computation is slept; gradients are sent.
#pragma once

namespace ringrt::bench {

// Runs one rank; argv[0] is "train". Returns the exit status.
int train(int argc, char **argv);

}  // namespace ringrt::bench
