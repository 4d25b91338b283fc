// SPDX-License-Identifier: BSD-3-Clause
// Why a job got its size: a code for ringstat, a sentence for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ringrt::policy {

struct Allotment;
struct Job;
struct Options;

enum class Reason : uint8_t {
    none,
    at_max,           // has MAX
    best_gain,        // doubled: the best saving per GPU
    no_gain,          // the next doubling would not make it faster
    no_capacity,      // the next doubling does not fit
    restart_cost,     // the next doubling does not pay back the stop and restart
    gave_to_other,    // shrunk: another malleable job saves more with these GPUs
    gave_to_rigid,    // shrunk: a rigid job waits for them
    keeps_for_rigid,  // not grown: a rigid job waits for these GPUs
    waits,            // no GPUs for even MIN
    pinned,           // left alone in this decision
};

[[nodiscard]] std::string_view to_string(Reason reason);  // the code: "best_gain"

// One sentence: why a job has this size, and what would change it.
[[nodiscard]] std::string explain(const Job &job, const Allotment &allotment,
                                  const Options &options);

}  // namespace ringrt::policy
