// SPDX-License-Identifier: BSD-3-Clause
// What a controller must learn about the seconds before its start. A killed slurmctld has forgotten
// what it had not saved, including the jobs' records. Only this journal shows whether a job that
// slurmctld lists as running had left for its resize or had ended. One line for each event:
//
//   event/1 time=1763721600.2 job=12 kind=ended outcome=completed
//
// in the grammar of the records (records/fields.h); unknown keys are skipped. Every line has the
// outcome as its last field, so a torn line is recognized and ignored.
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
        bool completed = false;  // with exit code 0, before any limit
    };
    std::map<uint32_t, double> asked_s;      // jobs in a resize at the end, and since when
    std::map<uint32_t, double> under_way_s;  // jobs last asked or requeued, and when
    bool continues = false;            // slurmctld was not killed: it only reread its configuration
    std::map<uint32_t, Ending> ended;  // jobs that were not pending since
};

// The event's line, without the newline; empty: a restart does not need it (a dry run, or an event
// without a job).
[[nodiscard]] std::string journal_line(const Event &event);

// From the lines, oldest first.
[[nodiscard]] Journal read_journal(std::string_view lines);

}  // namespace ringrt::controller
