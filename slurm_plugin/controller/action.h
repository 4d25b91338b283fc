// SPDX-License-Identifier: BSD-3-Clause
// The next action for a job, and the context of that decision.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/records/extension.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

struct Action {
    enum class Kind : uint8_t {
        nothing,
        note,        // write the intent: an observed change
        call_off,    // write the intent: running at the old size again
        ask,         // write the intent, then signal
        signal,      // signal again
        release,     // update the pending job: size, time limit, start time, intent
        pause,       // update the pending job: the same, with a later start time
        renew,       // update the paused job: start time, intent
        make_rigid,  // remove the intent: the job is rigid from now on
        extend,      // submit one extension for each of `doublings`
        dismiss,     // note in the record of each of `leaving` that it is asked, then signal it
        signal_extension,  // signal again
        cancel_extension,
        shrink_base,   // write the intent, then signal: its ranks on whole nodes are to leave
        signal_base,   // signal again
        return_nodes,  // those ranks have left: Slurm takes all nodes but `nodes`
        end_shrink,    // write the intent: the nodes stay
    };
    struct Doubling {
        int level = 1;
        PendingUpdate::Size size;
    };
    struct Leaving {
        uint32_t extension = 0;
        records::Extension record;
    };
    Kind kind = Kind::nothing;
    records::Intent intent;      // written alone (note, call_off, ask) or with the update
    PendingUpdate update;        // release, pause, renew
    std::optional<Event> event;  // logged after the action; its time and job are filled in then
    uint32_t extension = 0;      // signal_extension, cancel_extension: its job ID
    std::vector<Doubling> doublings;
    std::vector<Leaving> leaving;  // the last extension first
    ExtensionPlace place;          // extend
    std::vector<int> nodes;        // return_nodes: indices of the nodes that stay
    Settings settings;             // ask, note, call_off, make_rigid: set with the intent
    const char *cause = "";        // call_off: for the statistics
    // release: Slurm does not start the job at its old size although those GPUs are free. The job
    // exceeds a limit, or fits no node.
    bool slurm_declined = false;
    bool move_failed = false;   // release: Slurm did not start it at its planned place
    bool has_new_size = false;  // note: it runs, and its last run had another size
    bool poll_fast = false;     // poll again after busy_poll_s
};

inline Action wait_for_more() { return {.poll_fast = true}; }

struct PassContext {
    double now_s = 0;
    std::span<const NodeRecord> nodes = {};  // of the observation
    int gpus_per_node = 1;        // most that a node of its pool can give the job, with its CPUs
    bool room_is_coming = false;  // a resize under way will free GPUs in its pool
    bool can_keep_nodes = false;  // Slurm can take nodes of a running job
    bool may_ask = false;         // a decision is due, and no limit on resizes is reached
};

}  // namespace ringrt::controller
