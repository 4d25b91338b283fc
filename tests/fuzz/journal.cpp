// SPDX-License-Identifier: BSD-3-Clause
// The journal, which the controller reads inside slurmctld when it starts.
#include "slurm_plugin/controller/journal.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"

using namespace ringrt::controller;
using namespace ringrt::fuzz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string lines(text_of(data, size));
    const Journal journal = read_journal(lines);
    const auto told = static_cast<size_t>(std::ranges::count(lines, '\n')) + 1;
    expect(journal.asked_s.size() <= told && journal.ended.size() <= told,
           "a line tells of one job");
    for (const auto &[job_id, ending] : journal.ended)
        expect(!journal.asked_s.contains(job_id), "what has ended is not on its way");
    // A complete line counts, whatever precedes it.
    for (const Outcome outcome : {Outcome::completed, Outcome::cancelled, Outcome::gone}) {
        const Event event{
            .time_s = 1763721600, .job_id = 7, .kind = EventKind::ended, .outcome = outcome};
        const Journal then = read_journal(lines + "\n" + journal_line(event) + "\n");
        const auto ending = then.ended.find(7);
        expect(ending != then.ended.end() && ending->second.time_s == event.time_s,
               "the last line counts");
        expect(ending->second.completed == (outcome == Outcome::completed), "how it ended");
        expect(!then.asked_s.contains(7), "what has ended is not on its way");
    }
    return 0;
}
