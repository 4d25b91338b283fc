// SPDX-License-Identifier: BSD-3-Clause
// The end of the event log, which the controller reads inside slurmctld when it starts.
#include <algorithm>

#include "slurm_plugin/controller/event.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt::controller;
using namespace ringrt::fuzz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string lines(text_of(data, size));
    const Past past = past_of(lines);
    const auto told = static_cast<size_t>(std::ranges::count(lines, '\n')) + 1;
    expect(past.asked_s.size() <= told && past.ended.size() <= told, "a line tells of one job");
    for (const auto &[job_id, ending] : past.ended)
        expect(!past.asked_s.contains(job_id), "what has ended is not on its way");
    // Whatever stands before it, a whole line counts.
    const Event last{.time_s = 1763721600, .job_id = 7, .kind = EventKind::ended};
    for (const char *text : {"has ended", "was cancelled"}) {
        Event event = last;
        event.text = text;
        const Past then = past_of(lines + "\n" + to_json(event) + "\n");
        const auto ending = then.ended.find(7);
        expect(ending != then.ended.end() && ending->second.time_s == last.time_s,
               "the last line counts");
        expect(ending->second.completed == event.text.starts_with(kCompleted), "how it ended");
        expect(!then.asked_s.contains(7), "what has ended is not on its way");
    }
    return 0;
}
