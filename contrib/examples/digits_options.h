// SPDX-License-Identifier: BSD-3-Clause
// Command line of the digits example.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace digits {

struct Options {
    std::string data = "digits.csv";
    std::string loss_csv;  // empty: no log
    std::string json;      // empty: no summary file
    std::vector<std::size_t> hidden{64};
    uint64_t seed = 1;
    unsigned epochs = 30;
    unsigned batch = 64;         // samples per step over all GPUs
    unsigned batch_per_gpu = 0;  // > 0: the batch per GPU is fixed instead
    double learning_rate = 0.2;
    double momentum = 0.9;
    bool one_allreduce = false;       // after the backward pass, instead of layer by layer
    bool live_resize = false;         // ranks join and leave meanwhile
    double device_ms_per_sample = 0;  // 0: do not sleep
    unsigned save_interval_s = 0;     // 0: ringrt's default
};

enum class Parsed { run, help, wrong };

// Prints the help, or one line about the error.
[[nodiscard]] Parsed parse_options(int argc, char **argv, Options &out);

}  // namespace digits
