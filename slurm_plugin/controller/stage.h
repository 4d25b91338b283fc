// SPDX-License-Identifier: BSD-3-Clause
// The life of a malleable job. Its stage is derived in each pass from Slurm's record and the intent
// and nothing else is kept, so every stage can be met after a crash, and every one can be left.
#pragma once

#include <cstdint>
#include <string_view>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

// clang-format off
//
//   submit ─► unsized ──(size, start now)──► eligible ──(Slurm starts it)──► starting
//                ▲                                                              │ noted
//                │                                       ┌────(called off)────┐ ▼
//           completing ◄──(it requeues itself)── signalled ◄──(intent, signal)── running
//
//   And what others do:
//     starting, running, signalled ──► completing             its user's requeue, a lost node, its end
//     starting, running, signalled ──► suspended              by an administrator or gang scheduling;
//     suspended ──► starting, running, completing             its resize is called off meanwhile
//     completing, unsized, eligible ──► held_back             a hold, a dependency, a later start time
//     held_back ──► unsized, eligible
//     unsized ──► starting                                    Slurm's own start delay is over
//     completing, held_back, unsized, eligible ──► ended
//
// clang-format on
enum class Stage : uint8_t {
    held_back,   // pending, and somebody keeps it from starting: it is left alone
    unsized,     // pending, and its size is not decided: new, or back from a run
    eligible,    // pending with its size: Slurm may start it
    starting,    // running, and its start is not in the intent yet
    running,     // running, and nothing is asked of it
    signalled,   // running, asked to save and to requeue itself
    suspended,   // by an administrator or gang scheduling
    completing,  // its run ends; what comes next is not known
    ended,
};

inline constexpr int kStages = 9;

// What stands between a pending job and its start besides the job's own record.
struct Holds {
    double requeue_s = 121;  // the start delay that Slurm sets at a requeue
    double submit_s = 10;    // the start delay that job_submit sets
};

// `hold`: the record's own, or none where it is treated like a user's hold.
[[nodiscard]] Stage stage_of(const JobRecord &record, const records::Intent &intent, SlurmHold hold,
                             const Holds &holds, double now_s);

[[nodiscard]] std::string_view to_string(Stage stage);

// pending, as Slurm calls it
[[nodiscard]] constexpr bool is_waiting(Stage stage) {
    return stage == Stage::held_back || stage == Stage::unsized || stage == Stage::eligible;
}

// Does the job hold GPUs, as far as Slurm knows? A completing job still does.
[[nodiscard]] constexpr bool holds_gpus(Stage stage) {
    return !is_waiting(stage) && stage != Stage::ended;
}

}  // namespace ringrt::controller
