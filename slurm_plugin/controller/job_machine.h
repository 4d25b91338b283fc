// SPDX-License-Identifier: BSD-3-Clause
// The state machine of one job: from its record, the wish for it and what is remembered, to the one
// thing to do next. Pure.
//
//   submitted ─► queued ─(size, begin = now)─► released ─(Slurm starts it)─► running
//                  ▲                                                        │    ▲
//      user's requeue, node failure,                    intent, then signal ▼    │ grace over:
//      called off a record lost with slurmctld                                        asked ┘
//                  └──────────────────── requeued: pending again ◄──────────┘
//
// Whatever state the record is in: a job that runs while its record says it waits has started, and
// one that waits while its record says it runs has come back. So every state can be left, and no
// update is needed to have arrived.
#pragma once

#include <optional>
#include <string>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/controller/job_view.h"

namespace ringrt::controller {

enum class Act : uint8_t {
    nothing,
    note,       // write the intent: something was seen
    call_off,   // write the intent: back to running at the old size
    ask,        // write the intent, then signal
    signal,     // signal again
    release,    // update the pending job: size, time limit, start time, intent
    hand_back,  // remove the intent: it is a rigid job from now on
};

struct Step {
    Act act = Act::nothing;
    records::Intent intent;  // to be written (note, call_off, ask) or within the update
    PendingUpdate update;    // release
    std::optional<Event>
        event;  // what is said once it is done; its time and job are filled in later
    std::optional<int64_t> nice;  // note: the nice value that is set with the intent
    const char *cause = "";       // call_off: for the statistics
    // release: Slurm does not start it at its old size, although that is free: it is over a limit,
    // or fits no node
    bool size_refused = false;
    bool soon = false;  // look again after busy_poll_s
};

// What the machine needs to know besides the job itself.
struct Situation {
    double now_s = 0;
    int gpus_per_node = 1;        // that a node of its pool can give the job, with its CPUs
    bool room_is_coming = false;  // a resize under way will free GPUs in its pool
    bool may_ask = false;         // it is time for a decision, and the storm limit is not reached
};

[[nodiscard]] Step next_step(const JobView &job, const Wish &wish, const JobMemory &memory,
                             const Situation &situation, const Options &options);

}  // namespace ringrt::controller
