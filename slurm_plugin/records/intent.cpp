// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/records/intent.h"

#include <algorithm>
#include <array>

#include "model/even_nodes.h"
#include "slurm_plugin/records/fields.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt::records {

namespace {

constexpr std::string_view kIntentMarker = "malleable/1";
constexpr std::string_view kTaskPerNode = "node";
constexpr std::array<std::string_view, 5> kStates{"queued", "released", "running", "asked",
                                                  "paused"};

constexpr int64_t kDurationMax = 999'999'999;  // seconds, 31 years
constexpr int64_t kCountMax = 999'999;
constexpr double kCostMax = 1e6;  // seconds
constexpr int64_t kNiceMax = 0x7fffffff;

bool is_reason(std::string_view text) {
    return text.size() <= 24 && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
           });
}

bool read_state(std::string_view text, IntentState &out) {
    const auto *found = std::find(kStates.begin(), kStates.end(), text);
    if (found == kStates.end()) return false;
    out = static_cast<IntentState>(found - kStates.begin());
    return true;
}

// The keys in the order in which a record lists them; the first three are required.
namespace intent_keys {
using Key = RecordKey<Intent>;
constexpr std::array kAll{
    Key{"min", [](std::string_view v, Intent &i) { return read_into(v, 1, kGpusMax, i.gpus_min); }},
    Key{"max", [](std::string_view v, Intent &i) { return read_into(v, 1, kGpusMax, i.gpus_max); }},
    Key{"state", [](std::string_view v, Intent &i) { return read_state(v, i.state); }},
    Key{"sig", [](std::string_view v, Intent &i) { return read_into(v, 1, 64, i.signal); }},
    Key{"grace", [](std::string_view v, Intent &i) { return read_into(v, 1, 86400, i.grace_s); }},
    Key{"node", [](std::string_view v,
                   Intent &i) { return read_into(v, 1, kGpusMax, i.layout.gpus_per_node); }},
    Key{"tasks",
        [](std::string_view v, Intent &i) { return i.layout.task_per_node = v == kTaskPerNode; }},
    Key{"id",
        [](std::string_view v, Intent &i) { return read_into(v, 0, UINT32_MAX, i.resize_id); }},
    Key{"first",
        [](std::string_view v, Intent &i) { return read_into(v, 0, kGpusMax, i.first_gpus); }},
    Key{"gpus", [](std::string_view v, Intent &i) { return read_into(v, 0, kGpusMax, i.gpus); }},
    Key{"target",
        [](std::string_view v, Intent &i) { return read_into(v, 0, kGpusMax, i.target); }},
    Key{"since",
        [](std::string_view v, Intent &i) { return read_number(v, 0, kTimeMax, i.since_s); }},
    Key{"asked",
        [](std::string_view v, Intent &i) { return read_number(v, 0, kTimeMax, i.asked_s); }},
    Key{"begin",
        [](std::string_view v, Intent &i) { return read_into(v, 0, kTimeMax, i.begin_s); }},
    Key{"start",
        [](std::string_view v, Intent &i) { return read_into(v, 0, kTimeMax, i.start_s); }},
    Key{"limit",
        [](std::string_view v, Intent &i) { return read_into(v, -1, kDurationMax, i.limit_s); }},
    Key{"auto", [](std::string_view v, Intent &i) { return read_into(v, 0, 1, i.limit_by_slurm); }},
    Key{"used",
        [](std::string_view v, Intent &i) { return read_into(v, 0, kDurationMax, i.used_s); }},
    Key{"run", [](std::string_view v, Intent &i) { return read_into(v, -1, kCountMax, i.run); }},
    Key{"step",
        [](std::string_view v, Intent &i) { return read_into(v, -1, kStepMax, i.base_step); }},
    Key{"n", [](std::string_view v, Intent &i) { return read_into(v, 0, kCountMax, i.resizes); }},
    Key{"gap", [](std::string_view v, Intent &i) { return read_number(v, 0, kCostMax, i.gap_s); }},
    Key{"cost",
        [](std::string_view v, Intent &i) { return read_number(v, 0, kCostMax, i.restart_s); }},
    Key{"startup",
        [](std::string_view v, Intent &i) { return read_number(v, 0, kCostMax, i.start_up_s); }},
    Key{"nice",
        [](std::string_view v, Intent &i) {
            int64_t nice = 0;
            if (!read_into(v, -kNiceMax, kNiceMax, nice)) return false;
            i.own_nice = nice;
            return true;
        }},
    Key{"off", [](std::string_view v,
                  Intent &i) { return read_into(v, 0, UINT32_MAX, i.exclusions_checksum); }},
    Key{"mail",
        [](std::string_view v, Intent &i) { return read_into(v, 0, kRunMailsAll, i.own_mails); }},
    Key{"pause", [](std::string_view v, Intent &i) { return read_into(v, 0, 1, i.pause); }},
    Key{"live", [](std::string_view v, Intent &i) { return read_into(v, 0, 1, i.live); }},
    Key{"keep", [](std::string_view v, Intent &i) { return read_into(v, 0, kGpusMax, i.keep); }},
    Key{"good", [](std::string_view v, Intent &i) { return read_into(v, 0, kGpusMax, i.good); }},
    Key{"bad", [](std::string_view v, Intent &i) { return read_into(v, 0, kGpusMax, i.bad); }},
    Key{"why",
        [](std::string_view v, Intent &i) {
            if (!is_reason(v)) return false;
            i.why = v;
            return true;
        }},
};
static_assert(kAll.size() <= kRecordKeysMax);
}  // namespace intent_keys

// A later key that does not fit is left out. With the bounds above only `why` can fail to fit,
// because `auto` is present only if `limit` is -1 or `used` is 0.
void append_nonzero(std::string &record, std::string_view key, int64_t value, int64_t high) {
    if (value != 0) append_int(record, key, std::min(value, high));
}

}  // namespace

int nodes_of(const Layout &layout, int gpus, int node_gpus) {
    int most = std::max(1, node_gpus);
    if (layout.gpus_per_node > 0) most = std::min(most, layout.gpus_per_node);
    return model::even_nodes(gpus, most);
}

int tasks_of(const Layout &layout, int gpus, int nodes) {
    return layout.task_per_node ? nodes : gpus;
}

std::optional<Intent> parse_intent(std::string_view text) {
    const auto intent =
        read_record<Intent>(text, kIntentMarker, kRecordBytesMax, intent_keys::kAll);
    return intent && intent->gpus_min <= intent->gpus_max ? intent : std::nullopt;
}

std::string format_intent(const Intent &intent) {
    std::string out(kIntentMarker);
    append_int(out, "min", intent.gpus_min);
    append_int(out, "max", intent.gpus_max);
    append_int(out, "sig", intent.signal);
    append_int(out, "grace", intent.grace_s);
    append_text(out, "state", to_string(intent.state));
    append_nonzero(out, "node", std::max(0, intent.layout.gpus_per_node), kGpusMax);
    if (intent.layout.task_per_node) append_text(out, "tasks", kTaskPerNode);
    append_nonzero(out, "id", intent.resize_id, UINT32_MAX);
    append_nonzero(out, "first", intent.first_gpus, kGpusMax);
    append_nonzero(out, "gpus", intent.gpus, kGpusMax);
    append_nonzero(out, "target", intent.target, kGpusMax);
    append_time(out, "since", std::clamp(intent.since_s, 0.0, 1.0 * kTimeMax));
    // Less than a tenth would be written as 0, and a zero is left out.
    if (intent.asked_s >= 0.1) append_time(out, "asked", std::min(intent.asked_s, 1.0 * kTimeMax));
    append_nonzero(out, "begin", intent.begin_s, kTimeMax);
    append_nonzero(out, "start", intent.start_s, kTimeMax);
    append_nonzero(out, "limit", intent.limit_s, kDurationMax);
    append_nonzero(out, "auto", intent.limit_by_slurm, 1);
    append_nonzero(out, "used", intent.used_s, kDurationMax);
    if (intent.run >= 0) append_int(out, "run", std::min<int64_t>(intent.run, kCountMax));
    if (intent.base_step >= 0) append_int(out, "step", std::min(intent.base_step, kStepMax));
    append_nonzero(out, "n", intent.resizes, kCountMax);
    if (intent.gap_s > 0) append_number(out, "gap", std::min(intent.gap_s, kCostMax));
    if (intent.restart_s > 0) append_number(out, "cost", std::min(intent.restart_s, kCostMax));
    if (intent.start_up_s > 0) append_number(out, "startup", std::min(intent.start_up_s, kCostMax));
    if (intent.own_nice) append_int(out, "nice", std::clamp(*intent.own_nice, -kNiceMax, kNiceMax));
    append_nonzero(out, "off", intent.exclusions_checksum, UINT32_MAX);
    append_nonzero(out, "mail", intent.own_mails, kRunMailsAll);
    if (intent.pause) append_int(out, "pause", 1);
    if (intent.live) append_int(out, "live", 1);
    append_nonzero(out, "keep", std::max(0, intent.keep), kGpusMax);
    append_nonzero(out, "good", std::max(0, intent.good), kGpusMax);
    append_nonzero(out, "bad", std::max(0, intent.bad), kGpusMax);
    if (!intent.why.empty() && is_reason(intent.why)) append_text(out, "why", intent.why);
    return out;
}

std::string format_into(std::string_view site_text, const Intent &intent) {
    return replace_record(site_text, kIntentMarker, format_intent(intent));
}

std::string without_intent(std::string_view text) {
    const std::optional<Span> record = find_record(text, kIntentMarker);
    if (!record) return std::string(text);
    std::string before(text.substr(0, record->begin));
    if (!before.empty() && before.back() == ' ') before.pop_back();  // added by format_into()
    return before + std::string(text.substr(record->end));
}

std::string_view to_string(IntentState state) { return kStates[static_cast<std::size_t>(state)]; }

}  // namespace ringrt::records
