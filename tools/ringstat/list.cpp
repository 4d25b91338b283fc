// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/list.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <thread>

#include "slurm_plugin/controller/nearest.h"
#include "slurm_plugin/slurm/cluster/job_listing.h"
#include "tools/ringstat/columns.h"
#include "tools/ringstat/output.h"
#include "tools/ringstat/plugin_view.h"
#include "tools/ringstat/report.h"
#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

std::string did_you_mean(const std::string &word, std::span<const std::string_view> all) {
    const std::string_view meant = controller::nearest(word, all);
    return meant.empty() ? "" : "; did you mean \"" + std::string(meant) + "\"?";
}

std::string wrong_state(const std::string &state) {
    const std::vector<std::string_view> all = slurm::state_names();
    for (const std::string_view name : all)
        if (upper(state) == upper(std::string(name))) return "";
    return "unknown job state \"" + printable(state) + "\"" + did_you_mean(upper(state), all);
}

std::string wrong_partition(const std::string &name, const std::vector<std::string> &known) {
    if (known.empty() || std::ranges::find(known, name) != known.end()) return "";
    const std::vector<std::string_view> all(known.begin(), known.end());
    return "no such partition: \"" + printable(name) + "\"" + did_you_mean(name, all);
}

void take_reasons(std::vector<JobView> &jobs) {
    const PluginView plugin = view_plugin();
    if (!plugin.error.empty()) return;
    std::map<uint32_t, std::string> reasons;
    for (controller::Explanation &one : explain_all(plugin, unix_now_s()).explanations)
        reasons[one.job_id] = std::move(one.reason);
    for (JobView &job : jobs)
        if (const auto now = reasons.find(job.id); job.state == "steady" && now != reasons.end())
            job.reason = camel_case(now->second);
}

// Names of array tasks are longer than numbers.
void widen_first(Cell &cell, const std::vector<JobView> &jobs) {
    constexpr std::size_t kWidest = 24;
    for (const JobView &job : jobs)
        cell.width = std::max(cell.width, std::min(kWidest, shown_name(job.id, job.task).size()));
}

void print_table(const Options &options, const JobList &list) {
    auto cells = std::get<std::vector<Cell>>(parse_format(options.format));
    if (options.format == kDefaultFormat) widen_first(cells.front(), list.jobs);
    if (options.header) put(header_line(cells) + "\n");
    for (const JobView &job : list.jobs) put(job_line(cells, job) + "\n");
    if (options.header && list.summary) put(summary_text(*list.summary) + "\n");
}

int list_once(const Options &options) {
    const JobList list = ask_jobs(options);
    if (!list.error.empty()) return fail(kNoAnswer, list.error);
    if (options.json)
        put(jobs_json(list.jobs, list.summary, unix_now_s()));
    else
        print_table(options, list);
    if (!options.filter.jobs.empty() && list.jobs.empty())
        return fail(kNoSuchJob, "there is no such malleable job (ended ones: --states=all)");
    return kOk;
}

}  // namespace

std::optional<int> check_filter(const Filter &filter) {
    for (const std::string &user : filter.users)
        if (!slurm::is_user(user)) return fail(kUsage, "no such user: \"" + printable(user) + "\"");
    for (const std::string &state : filter.states)
        if (const std::string what = wrong_state(state); !what.empty()) return fail(kUsage, what);
    if (filter.partitions.empty()) return std::nullopt;
    const std::vector<std::string> known = slurm::list_partitions();
    for (const std::string &name : filter.partitions)
        if (const std::string what = wrong_partition(name, known); !what.empty())
            return fail(kUsage, what);
    return std::nullopt;
}

JobList ask_jobs(const Options &options) {
    const slurm::Listing listing = slurm::list_jobs();
    if (!listing.error.empty()) return {.error = listing.error};
    JobList out{.jobs = view_jobs(listing.jobs, options.filter, unix_now_s())};
    const bool has_pending =
        std::ranges::any_of(listing.jobs, [](const auto &job) { return job.pending; });
    if (has_pending && !out.jobs.empty()) take_reasons(out.jobs);
    sort_jobs(out.jobs, std::get<std::vector<SortKey>>(parse_sort(options.sort)));
    if (const auto gpus = slurm::count_cluster_gpus())
        out.summary = summarize(listing.jobs, gpus->total, gpus->away);
    return out;
}

int list(const Options &options) {
    if (options.iterate_s == 0) return list_once(options);
    for (;;) {
        const std::time_t now = std::time(nullptr);
        if (!options.json) put(std::ctime(&now));
        // If slurmctld does not answer, prints its error and retries.
        (void)list_once(options);
        if (std::fflush(stdout) != 0) return kNoAnswer;
        std::this_thread::sleep_for(std::chrono::duration<double>(options.iterate_s));
    }
}

}  // namespace ringrt::ringstat
