// SPDX-License-Identifier: BSD-3-Clause
// What a controller must know of the seconds before its start. slurmctld, killed, has forgotten
// what it had not saved yet, the jobs' own records with it: whether a job that it believes to run
// had left for its resize, or had ended, is told by this journal alone. One line for each event:
//
//   event/1 time=1763721600.2 job=12 kind=ended outcome=completed
//
// in the records' grammar (records/fields.h): unknown keys are passed over. The outcome stands last
// and in every line, so that a torn one is none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "slurm_plugin/controller/event.h"

namespace ringrt::controller {

struct Journal {
    struct Ending {
        double time_s = 0;
        bool completed = false;  // with exit code 0, in its own time
    };
    std::map<uint32_t, double> asked_s;  // jobs whose resize was under way at the end, since when
    std::map<uint32_t, double> under_way_s;  // jobs asked or requeued last, and when
    bool goes_on = false;  // slurmctld was not killed: it has only read its configuration anew
    std::map<uint32_t, Ending> ended;  // jobs that did not begin anew since
};

// The event's line, without the newline; empty: a start needs not know of it (a dry run, or one
// that concerns no job).
[[nodiscard]] std::string journal_line(const Event &event);

// From the lines, oldest first.
[[nodiscard]] Journal read_journal(std::string_view lines);

}  // namespace ringrt::controller
