// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/columns.h"

#include <algorithm>
#include <cstdio>

#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

constexpr std::size_t kWidthMax = 256;

std::string number(long long value) { return std::to_string(value); }

std::string number_or_dash(long long value) { return value == 0 ? "-" : number(value); }

std::string tenths(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

constexpr std::string_view kUnknown = "-";

template <typename Value, typename Show>
std::string shown_or_dash(const std::optional<Value> &value, Show show) {
    return value ? show(*value) : std::string(kUnknown);
}

template <typename Value>
double known(const std::optional<Value> &value) {
    return value ? static_cast<double>(*value) : -1;
}

constexpr Column kColumns[] = {
    {'i', "JOBID", "job id", [](const JobView &j) { return printable(shown_name(j.id, j.task)); },
     [](const JobView &j) -> double {
         const auto [job, task] = order_of(j.id, j.task);
         return job * 4194304.0 + task;  // MaxArraySize is smaller
     }},
    {'j', "NAME", "job name", [](const JobView &j) { return printable(j.name); }, nullptr},
    {'u', "USER", "owner", [](const JobView &j) { return printable(j.user); }, nullptr},
    {'P', "PARTITION", "partition", [](const JobView &j) { return printable(j.partition); },
     nullptr},
    {'t', "ST", "Slurm's state, short", [](const JobView &j) { return j.slurm_state_short; },
     nullptr},
    {'T', "SLURM_STATE", "Slurm's state", [](const JobView &j) { return j.slurm_state; }, nullptr},
    {'M', "TIME", "time in the current run", [](const JobView &j) { return duration(j.time_s); },
     [](const JobView &j) -> double { return j.time_s; }},
    {'N', "NODELIST", "its nodes", [](const JobView &j) { return printable(j.nodes); }, nullptr},
    {'g', "GPUS", "GPUs that it holds; 0: pending", [](const JobView &j) { return number(j.gpus); },
     [](const JobView &j) -> double { return j.gpus; }},
    {'l', "MIN", "fewest GPUs", [](const JobView &j) { return number(j.gpus_min); },
     [](const JobView &j) -> double { return j.gpus_min; }},
    {'h', "MAX", "most GPUs", [](const JobView &j) { return number(j.gpus_max); },
     [](const JobView &j) -> double { return j.gpus_max; }},
    {'n', "NEXT", "size requested or set, not running yet",
     [](const JobView &j) { return number_or_dash(j.target); },
     [](const JobView &j) -> double { return j.target; }},
    {'z', "RESIZES", "resizes so far", [](const JobView &j) { return number(j.resizes); },
     [](const JobView &j) -> double { return j.resizes; }},
    {'s', "STATE", "new, waits, paused, steady, asked, leaving, ending or ended",
     [](const JobView &j) { return j.state; }, nullptr},
    {'r', "REASON", "reason for its size, or why it is pending",
     [](const JobView &j) { return printable(j.reason); }, nullptr},
    {'p', "STEP", "last finished step that the job reported",
     [](const JobView &j) {
         return shown_or_dash(j.step, [](uint64_t v) { return std::to_string(v); });
     },
     [](const JobView &j) -> double { return known(j.step); }},
    {'k', "CKPT", "step of its newest checkpoint",
     [](const JobView &j) {
         return shown_or_dash(j.checkpoint_step, [](uint64_t v) { return std::to_string(v); });
     },
     [](const JobView &j) -> double { return known(j.checkpoint_step); }},
    {'v', "STEP_MS", "milliseconds at this size for one step of the configured batch",
     [](const JobView &j) { return shown_or_dash(j.step_ms, tenths); },
     [](const JobView &j) -> double { return known(j.step_ms); }},
    {'y', "SAMPLES_S", "samples trained per second at this size",
     [](const JobView &j) { return shown_or_dash(j.samples_per_s, tenths); },
     [](const JobView &j) -> double { return known(j.samples_per_s); }},
    {'e', "LEFT", "time to its end at this size",
     [](const JobView &j) { return shown_or_dash(j.left_s(), duration); },
     [](const JobView &j) -> double { return known(j.left_s()); }},
    {'x', "GAP_S", "seconds from the last resize's signal to running again",
     [](const JobView &j) { return j.gap_s > 0 ? tenths(j.gap_s) : std::string(kUnknown); },
     [](const JobView &j) -> double { return j.gap_s; }},
};

const Column *find_column(char letter) {
    for (const Column &column : kColumns)
        if (column.letter == letter) return &column;
    return nullptr;
}

std::string letters() {
    std::string all;
    for (const Column &column : kColumns)
        all += std::string(all.empty() ? "%" : " %") + column.letter;
    return all;
}

// Parses "[.][size]letter" after a percent sign. Returns the number of characters, or 0 if invalid.
std::size_t parse_cell(std::string_view text, Cell &cell) {
    std::size_t at = 0;
    if (at < text.size() && text[at] == '.') cell.right = true, ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
        cell.width =
            std::min(cell.width * 10 + static_cast<std::size_t>(text[at] - '0'), kWidthMax);
    cell.column = at < text.size() ? find_column(text[at]) : nullptr;
    return cell.column == nullptr ? 0 : at + 1;
}

std::string line(std::span<const Cell> cells, auto value) {
    std::string out;
    for (const Cell &cell : cells) {
        out += cell.literal;
        if (cell.column != nullptr) out += fit(value(*cell.column), cell.width, cell.right);
    }
    return out.erase(out.find_last_not_of(' ') + 1);
}

}  // namespace

std::span<const Column> columns() { return kColumns; }

std::variant<std::vector<Cell>, std::string> parse_format(std::string_view format) {
    std::vector<Cell> cells(1);
    for (std::size_t at = 0; at < format.size();) {
        if (format[at] != '%') {
            cells.back().literal += format[at++];
            continue;
        }
        const std::size_t read = parse_cell(format.substr(at + 1), cells.back());
        if (read == 0)
            return "--format: expected %[[.]size]letter with one of " + letters() + ", got \"" +
                   printable(format.substr(at, 12)) + "\"";
        cells.emplace_back();
        at += 1 + read;
    }
    return cells;
}

std::variant<std::vector<SortKey>, std::string> parse_sort(std::string_view text) {
    std::vector<SortKey> keys;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view one = text.substr(0, comma);
        const bool signed_key = one.starts_with('-') || one.starts_with('+');
        SortKey key{.descending = one.starts_with('-')};
        if (signed_key) one.remove_prefix(1);
        if (one.size() == 1) key.column = find_column(one[0]);
        if (key.column == nullptr)
            return "--sort: expected [-]letter[,[-]letter...] with letters of " + letters() +
                   ", got \"" + printable(text.substr(0, 12)) + "\"";
        keys.push_back(key);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return keys;
}

void sort_jobs(std::vector<JobView> &jobs, std::span<const SortKey> keys) {
    std::stable_sort(jobs.begin(), jobs.end(), [&](const JobView &a, const JobView &b) {
        for (const SortKey &key : keys) {
            const JobView &x = key.descending ? b : a, &y = key.descending ? a : b;
            if (key.column->order != nullptr) {
                const double one = key.column->order(x), other = key.column->order(y);
                if (one != other) return one < other;
            } else if (const int order = key.column->value(x).compare(key.column->value(y))) {
                return order < 0;
            }
        }
        return false;
    });
}

std::string header_line(std::span<const Cell> cells) {
    return line(cells, [](const Column &column) { return std::string(column.header); });
}

std::string job_line(std::span<const Cell> cells, const JobView &job) {
    return line(cells, [&](const Column &column) { return column.value(job); });
}

}  // namespace ringrt::ringstat
