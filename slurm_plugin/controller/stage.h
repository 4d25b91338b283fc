// SPDX-License-Identifier: BSD-3-Clause
// The life of a malleable job. Each pass derives the stage from Slurm's record and the intent, and
// keeps no other state. So a controller that restarts can meet a job in any stage, and every stage
// has a way out.
#pragma once

#include <cstdint>
#include <string_view>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

// clang-format off
//
//   submit ─► unsized ──(size, start now)──► eligible ──(Slurm starts it)──► starting
//                ▲                                                              │ start recorded
//                │                                       ┌────(called off)────┐ ▼
//           completing ◄──(it requeues itself)── signalled ◄──(intent, signal)── running
//
//   A pause is a resize to 0 GPUs (doc/pausing.md):
//     unsized ──(MIN, start time in a while)──► paused ──(size, start now)──► eligible
//                                               │    ▲ the start time is renewed
//                                               └────┘
//
//   Transitions that the controller does not cause:
//     starting, running, signalled ──► completing             user requeue, lost node, end of the job
//     starting, running, signalled ──► suspended              by an administrator or gang scheduling;
//     suspended ──► starting, running, completing             its resize is called off meanwhile
//     completing, unsized, eligible, paused ──► held_back     a hold, a dependency, a later start time
//     held_back ──► unsized, eligible, paused
//     paused ──► eligible, starting                           its start time passed, or its user set it to now
//     unsized ──► starting                                    Slurm's own start delay has expired
//     completing, held_back, unsized, eligible, paused ──► ended
//
// clang-format on
enum class Stage : uint8_t {
    held_back,   // pending, and a hold, dependency or start time blocks it: left alone
    unsized,     // pending, and its next size is not set yet: new, or requeued
    eligible,    // pending with its size: Slurm may start it
    paused,      // pending with its MIN until the start time that the controller set
    starting,    // running, and the intent does not record the start yet
    running,     // running, with no resize under way
    signalled,   // running, signalled to save and requeue
    suspended,   // by an administrator or gang scheduling
    completing,  // its run ends; the next stage is not known yet
    ended,
};

inline constexpr int kStages = 10;

// What delays the start of a pending job, apart from the job's own record.
struct Holds {
    double requeue_s = 121;  // the start delay that Slurm sets at a requeue
    double submit_s = 10;    // the start delay that job_submit sets
};

// `hold`: the record's slurm_hold, or none if Slurm's hold is to count as a user's.
[[nodiscard]] Stage stage_of(const JobRecord &record, const records::Intent &intent, SlurmHold hold,
                             const Holds &holds, double now_s);

[[nodiscard]] std::string_view to_string(Stage stage);

// Pending in Slurm's terms.
[[nodiscard]] constexpr bool is_waiting(Stage stage) {
    return stage == Stage::held_back || stage == Stage::unsized || stage == Stage::eligible ||
           stage == Stage::paused;
}

// Whether the job holds GPUs in Slurm's records. A completing job still does.
[[nodiscard]] constexpr bool holds_gpus(Stage stage) {
    return !is_waiting(stage) && stage != Stage::ended;
}

}  // namespace ringrt::controller
