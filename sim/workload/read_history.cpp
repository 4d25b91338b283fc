// SPDX-License-Identifier: BSD-3-Clause
// A site's own history: `sacct -P` dumps and the Standard Workload Format. Neither shows how a job
// would have scaled. So every job gets a curve on which WorkloadOptions::parallel of a one-GPU step
// shrinks with the GPUs, and the amount of work that gives its recorded time at its recorded size.
//
//   sacct -a -X -P -S 2026-10-01 -E 2026-11-01 -o
//   JobID,JobName,User,Submit,Start,ElapsedRaw,TimelimitRaw,AllocTRES,State
//
// needs only sacct's own rights; without -a it covers the user's own jobs. Job steps (1234.batch),
// jobs without GPUs and jobs that never ran are left out.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <ctime>

#include "model/speed.h"
#include "sim/workload/csv.h"
#include "sim/workload/workload.h"

namespace ringrt::sim {
namespace {

JobSpec recorded_job(double submit_s, double seconds, int gpus, const WorkloadOptions &options) {
    JobSpec job;
    job.submit_s = submit_s;
    job.gpus_asked = std::min(gpus, options.cluster_gpus);
    const int most = std::clamp(std::max(gpus, options.malleable_max), 1, options.cluster_gpus);
    job.gpus_limit = most;
    job.gpus_max = static_cast<int>(std::bit_floor(static_cast<unsigned>(most)));
    const double shrinks_ms = 1000 * options.parallel;
    const model::SpeedModel model{.t = {shrinks_ms, 0, 0, 1000 - shrinks_ms}};
    std::vector<int> sizes;
    std::vector<double> step_s;
    for (int size = 1; size <= most; ++size) {
        sizes.push_back(size);
        step_s.push_back(model.step_ms(size) / 1000);
    }
    const double steps = std::max(1.0, seconds / (model.step_ms(job.gpus_asked) / 1000));
    set_curve(job, curve_profile("recorded", std::move(sizes), std::move(step_s), steps));
    return job;
}

// "2026-11-01T12:00:00" or Unix seconds (SLURM_TIME_FORMAT=%s).
std::optional<double> parse_time(std::string_view text) {
    if (const auto seconds = parse_number(text)) return seconds;
    std::tm time{};
    int year = 0;
    if (std::sscanf(std::string(text.substr(0, 32)).c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &year,
                    &time.tm_mon, &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec) != 6)
        return std::nullopt;
    time.tm_year = year - 1900;
    time.tm_mon -= 1;
    return static_cast<double>(timegm(&time));  // all times of a dump are in one time zone
}

// The largest count under a key in "billing=8,cpu=8,gres/gpu=4,gres/gpu:a100=4,node=1"; 0: none.
int count_of_tres(std::string_view tres, std::string_view key) {
    int most = 0;
    while (!tres.empty()) {
        const std::string_view item = tres.substr(0, tres.find(','));
        tres.remove_prefix(std::min(tres.size(), item.size() + 1));
        if (!item.starts_with(key)) continue;
        const std::size_t equals = item.find('=');
        const auto count =
            equals == std::string_view::npos ? std::nullopt : parse_number(item.substr(equals + 1));
        if (count && *count >= 1 && *count <= 65536) most = std::max(most, int(*count));
    }
    return most;
}

int gpus_of_tres(std::string_view tres) { return count_of_tres(tres, "gres/gpu"); }

// "D-HH:MM:SS", "HH:MM:SS", "MM:SS".
std::optional<double> parse_elapsed(std::string_view text) {
    double days = 0;
    if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
        const auto count = parse_number(text.substr(0, dash));
        if (!count) return std::nullopt;
        days = *count;
        text.remove_prefix(dash + 1);
    }
    double seconds = 0;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(':'));
        const auto value = parse_number(part);
        if (!value) return std::nullopt;
        seconds = seconds * 60 + *value;
        text.remove_prefix(std::min(text.size(), part.size() + 1));
    }
    return days * 86400 + seconds;
}

struct SacctColumns {
    std::size_t id, submit, elapsed, tres;
    bool elapsed_raw;
    std::optional<std::size_t> limit_minutes, name, user, start;
};

SacctColumns columns_of(const Table &table) {
    SacctColumns c{};
    c.id = table.column("JobID");
    c.submit = table.column("Submit");
    c.elapsed_raw = table.find("ElapsedRaw").has_value();
    c.elapsed = c.elapsed_raw ? table.column("ElapsedRaw") : table.column("Elapsed");
    const auto requested = table.find("ReqTRES");
    c.tres = requested && !table.find("AllocTRES") ? *requested : table.column("AllocTRES");
    c.limit_minutes = table.find("TimelimitRaw");
    c.name = table.find("JobName");
    c.user = table.find("User");
    c.start = table.find("Start");
    return c;
}

// Seconds; an InputError if the text is invalid.
double elapsed_of(const Table &table, std::size_t row, const SacctColumns &c) {
    const auto elapsed = c.elapsed_raw ? parse_number(table.text(row, c.elapsed))
                                       : parse_elapsed(table.text(row, c.elapsed));
    if (!elapsed || !(*elapsed >= 0 && *elapsed <= 1e9))  // NaN is out of range as well
        table.fail(row, "elapsed: expected seconds or D-HH:MM:SS, got \"" +
                            printable(table.text(row, c.elapsed)) + "\"");
    return *elapsed;
}

}  // namespace

Workload parse_sacct(TextFile file, const WorkloadOptions &options) {
    const Table table(std::move(file), '|');
    const SacctColumns c = columns_of(table);
    Workload workload;
    workload.has_dates = workload.notes.assumes_law = true;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const std::string_view id = table.text(row, c.id);
        if (id.find('.') != std::string_view::npos) {
            ++workload.notes.steps;
            continue;
        }
        const int gpus = gpus_of_tres(table.text(row, c.tres));
        if (gpus == 0) {
            ++workload.notes.without_gpus;
            continue;
        }
        const auto submit = parse_time(table.text(row, c.submit));
        if (!submit || *submit < 0 || *submit > 1e12)
            table.fail(row, "Submit: expected 2026-11-01T12:00:00 or seconds, got \"" +
                                printable(table.text(row, c.submit)) + "\"");
        const double elapsed = elapsed_of(table, row, c);
        if (elapsed == 0) {
            ++workload.notes.never_ran;
            continue;
        }
        workload.notes.cut += gpus > options.cluster_gpus;
        JobSpec job = recorded_job(*submit, elapsed, gpus, options);
        job.name = printable(id);
        job.application = c.name ? printable(table.text(row, *c.name)) : "recorded";
        if (c.user) job.user = printable(table.text(row, *c.user));
        if (const auto start = c.start ? parse_time(table.text(row, *c.start)) : std::nullopt)
            job.waited_s = std::max(0.0, *start - *submit);
        if (c.limit_minutes) {
            const auto minutes = parse_number(table.text(row, *c.limit_minutes));
            if (minutes && *minutes > 0 && *minutes < 1e8) job.limit_s = *minutes * 60;
        }
        workload.jobs.push_back(std::move(job));
    }
    return workload;
}

InferredCluster inferred_cluster(const std::string &path) {
    TextFile file = read_file(path);
    InferredCluster out;
    const std::string_view head = std::string_view(file.text).substr(0, file.text.find('\n'));
    if (path.ends_with(".swf") || head.find('|') == std::string_view::npos) return out;
    const Table table(std::move(file), '|');
    const SacctColumns c = columns_of(table);
    if (!c.start) return out;
    std::vector<std::pair<double, int>> changes;  // in the GPUs in use
    for (std::size_t row = 0; row < table.rows(); ++row) {
        if (table.text(row, c.id).find('.') != std::string_view::npos) continue;
        const std::string_view tres = table.text(row, c.tres);
        const int gpus = gpus_of_tres(tres), nodes = std::max(1, count_of_tres(tres, "node"));
        const auto start = parse_time(table.text(row, *c.start));
        if (gpus == 0 || !start) continue;
        changes.emplace_back(*start, gpus);
        changes.emplace_back(*start + elapsed_of(table, row, c), -gpus);
        out.gpus_per_node = std::max(out.gpus_per_node, (gpus + nodes - 1) / nodes);
    }
    std::sort(changes.begin(), changes.end());  // at one time, ends come before starts
    int in_use = 0;
    for (const auto &[time, gpus] : changes)
        out.most_in_use = std::max(out.most_in_use, in_use += gpus);
    if (out.gpus_per_node > 64 || out.most_in_use == 0) return {};
    out.nodes = (out.most_in_use + out.gpus_per_node - 1) / out.gpus_per_node;
    return out;
}

// http://www.cs.huji.ac.il/labs/parallel/workload/swf.html: 18 numbers per line, ';' starts a
// comment, -1 means unknown. Processors are read as GPUs.
Workload parse_swf(const TextFile &file, const WorkloadOptions &options) {
    std::string_view rest(file.text);
    Workload workload;
    workload.notes.assumes_law = true;
    for (int line_number = 1; !rest.empty(); ++line_number) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const auto fail_here = [&](const std::string &what) {
            throw InputError(file.path + ":" + std::to_string(line_number) + ": " + what);
        };
        if (line.size() > kLineBytesMax) fail_here("line longer than 65536 bytes");
        std::vector<double> fields;
        while (!line.empty() && fields.size() < 32) {
            const std::size_t begin = line.find_first_not_of(" \t\r");
            if (begin == std::string_view::npos || line[begin] == ';') break;
            line.remove_prefix(begin);
            const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
            const auto value = parse_number(word);
            if (!value) fail_here("expected a number, got \"" + printable(word) + "\"");
            fields.push_back(*value);
            line.remove_prefix(word.size());
        }
        if (fields.empty()) continue;
        if (fields.size() < 9)
            fail_here(std::to_string(fields.size()) +
                      " fields, expected the 18 of the Standard Workload Format");
        const double submit = fields[1], run = fields[3], limit = fields[8];
        const double processors = fields[4] > 0 ? fields[4] : fields[7];
        if (run <= 0 || processors <= 0) {
            ++workload.notes.never_ran;
            continue;
        }
        if (submit < 0 || submit > 1e12 || run > 1e9 || processors < 1 || processors > 65536)
            fail_here("submit, run time or processors out of range");
        workload.notes.cut += processors > options.cluster_gpus;
        JobSpec job = recorded_job(submit, run, static_cast<int>(processors), options);
        job.name = std::to_string(static_cast<long long>(std::clamp(fields[0], -1e15, 1e15)));
        job.application = "recorded";
        if (limit > 0) job.limit_s = limit;
        workload.jobs.push_back(std::move(job));
    }
    return workload;
}

}  // namespace ringrt::sim
