// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/journal.h"

#include <algorithm>
#include <array>

#include "slurm_plugin/records/fields.h"

namespace ringrt::controller {

namespace {

constexpr std::string_view kMarker = "event/1";
constexpr std::size_t kLineBytesMax = 160;
constexpr double kTimeMax = 99'999'999'999;  // Unix time, year 5138

struct Entry {
    double time_s = 0;
    uint32_t job_id = 0;
    std::string_view kind;
    std::optional<Outcome> outcome;  // none: the line is torn, or from a newer version
};

bool read_kind(std::string_view text, std::string_view &out) {
    const std::optional<EventKind> kind = event_kind(text);
    if (kind) out = to_string(*kind);
    return true;  // from a newer version: another event of the job
}

using Key = records::RecordKey<Entry>;
constexpr std::array kKeys{
    Key{"time", [](std::string_view v,
                   Entry &e) { return records::read_number(v, 0, kTimeMax, e.time_s); }},
    Key{"job", [](std::string_view v,
                  Entry &e) { return records::read_into(v, 1, UINT32_MAX, e.job_id); }},
    Key{"kind", [](std::string_view v, Entry &e) { return read_kind(v, e.kind); }},
    Key{"outcome",
        [](std::string_view v, Entry &e) {
            e.outcome = outcome_of(v);
            return e.outcome.has_value();
        }},
};

// The job left its run, or is pending: what comes next is about another run.
bool ends_run(std::string_view kind) {
    constexpr std::array kKinds{EventKind::released, EventKind::downsized, EventKind::requeued,
                                EventKind::paused, EventKind::resumed};
    return std::ranges::any_of(kKinds, [&](EventKind one) { return kind == to_string(one); });
}

// A slurmctld that was killed may show a job as running that has ended. What a controller then
// notes about that run does not make its end unknown.
void add(const Entry &entry, Journal &journal) {
    const bool is_end =
        entry.kind == to_string(EventKind::ended) || entry.kind == to_string(EventKind::lost);
    if (journal.ended.contains(entry.job_id) && !is_end && !ends_run(entry.kind)) return;
    journal.ended.erase(entry.job_id);
    const bool asked = entry.kind == to_string(EventKind::asked);
    if (asked) journal.asked_s[entry.job_id] = entry.time_s;
    if (asked || entry.kind == to_string(EventKind::requeued)) {
        journal.under_way_s[entry.job_id] = entry.time_s;
    } else {
        journal.asked_s.erase(entry.job_id);
        journal.under_way_s.erase(entry.job_id);
    }
    if (is_end) journal.ended[entry.job_id] = {entry.time_s, *entry.outcome == Outcome::completed};
}

}  // namespace

std::string journal_line(const Event &event) {
    if (event.job_id == 0 || event.kind == EventKind::dry_run) return {};
    std::string line(kMarker);
    records::append_time(line, "time", std::clamp(event.time_s, 0.0, kTimeMax));
    records::append_int(line, "job", event.job_id);
    records::append_text(line, "kind", to_string(event.kind));
    records::append_text(line, "outcome", to_string(event.outcome));
    return line;
}

Journal read_journal(std::string_view lines) {
    Journal out;
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(line.size() + 1, lines.size()));
        if (!line.starts_with(kMarker)) continue;
        if (const auto entry = records::read_record<Entry>(line, kMarker, kLineBytesMax, kKeys);
            entry && entry->outcome)
            add(*entry, out);
    }
    return out;
}

}  // namespace ringrt::controller
