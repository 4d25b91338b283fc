// SPDX-License-Identifier: BSD-3-Clause
// Why a job got its size: a code for ringstat and a sentence for people.
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
    at_max,           // has MAX, and had it before
    best_gain,        // doubled, perhaps to MAX: the best saving per GPU
    no_gain,          // the next doubling would not speed it up
    no_capacity,      // the next doubling does not fit
    restart_cost,     // the next doubling does not pay for the stop and restart
    gave_to_other,    // shrunk: another malleable job saves more with these GPUs
    gave_to_rigid,    // shrunk: a pending rigid job needs them
    keeps_for_rigid,  // not grown: the GPUs are kept for a pending rigid job
    waits,            // not enough GPUs for MIN
    paused,           // 0 GPUs: other jobs gain more from the GPUs of its MIN
    pinned,           // size not changed in this decision
};

[[nodiscard]] std::string_view to_string(Reason reason);  // the code: "best_gain"

// One sentence: why the job has this size, and what would change it.
[[nodiscard]] std::string explain(const Job &job, const Allotment &allotment,
                                  const Options &options);

}  // namespace ringrt::policy
