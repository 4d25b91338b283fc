// SPDX-License-Identifier: BSD-3-Clause
// ringstat: shows what squeue does not show of malleable jobs.
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <variant>

#include "slurm_plugin/slurm/cluster/job_listing.h"
#include "tools/ringstat/acct.h"
#include "tools/ringstat/chart.h"
#include "tools/ringstat/chart_svg.h"
#include "tools/ringstat/config_check.h"
#include "tools/ringstat/detach.h"
#include "tools/ringstat/diag.h"
#include "tools/ringstat/list.h"
#include "tools/ringstat/options.h"
#include "tools/ringstat/output.h"
#include "tools/ringstat/plugin_view.h"
#include "tools/ringstat/report.h"
#include "tools/ringstat/screen.h"
#include "tools/ringstat/text.h"
#include "tools/usage.h"

namespace ringrt::ringstat {
namespace {

constexpr double kChartWindow_s = 86400;

// The log given by name, or this cluster's.
History ask_history(const std::string &named) {
    if (!named.empty()) return read_history(named);
    const PluginView plugin = view_plugin();
    if (!plugin.error.empty()) return {.error = plugin.error};
    return read_history(plugin.event_log);
}

int show_history(const Options &options) {
    History history = ask_history(options.event_log);
    if (!history.error.empty()) return fail(kNoAnswer, history.error);
    const std::vector<PastEvent> events =
        select(std::move(history.events), {.job = options.job,
                                           .since_s = options.since_s,
                                           .until_s = options.until_s,
                                           .last = options.last});
    if (options.json) {
        put(history_json(events));
    } else {
        for (const PastEvent &event : events) put(event_line(event) + "\n");
    }
    if (options.job && events.empty())
        return fail(kNoSuchJob, "the log has no events of job " + options.job->text());
    return kOk;
}

uint32_t id_of_user(const std::string &name) {
    const passwd *entry = getpwnam(name.c_str());
    return entry != nullptr ? entry->pw_uid
                            : static_cast<uint32_t>(std::strtoul(name.c_str(), nullptr, 10));
}

void keep_wanted(Timeline &timeline, const Filter &filter) {
    std::vector<uint32_t> users;
    for (const std::string &name : filter.users) users.push_back(id_of_user(name));
    std::erase_if(timeline.lanes, [&](const JobLane &lane) {
        const bool other_user =
            !users.empty() && (lane.name.empty() || std::ranges::count(users, lane.user_id) == 0);
        const bool other_job = !filter.jobs.empty() && !is_wanted(filter.jobs, lane.id, lane.task);
        return other_user || other_job;
    });
}

int write_file(const std::string &path, const std::string &text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (file) return kOk;
    return fail(kNoAnswer, "cannot write " + path + ": " + std::strerror(errno));
}

int show_chart(const Options &options) {
    if (const auto status = check_filter(options.filter)) return *status;
    const History history = ask_history(options.event_log);
    if (!history.error.empty()) return fail(kNoAnswer, history.error);
    const double now_s = unix_now_s();
    const double end_s = options.until_s > 0 ? std::min(options.until_s, now_s) : now_s;
    const double start_s = options.since_s > 0 ? options.since_s : end_s - kChartWindow_s;
    Timeline timeline = make_timeline(history.events, start_s, end_s);
    keep_wanted(timeline, options.filter);
    if (options.json) {
        put(chart_json(timeline));
        return kOk;
    }
    if (timeline.lanes.empty())
        return fail(kNoSuchJob, "the event log has no malleable job in this time");
    if (options.since_s == 0) start_at_first(timeline);
    if (!options.svg.empty()) return write_file(options.svg, chart_svg(timeline));
    put(chart_text(timeline, this_screen()));
    return kOk;
}

// Slurm's data of a job that is not among the malleable jobs that have not ended.
int explain_other(const slurm::ListedJob &job, const Options &options) {
    const auto views = view_jobs(std::span(&job, 1), {.states = {"all"}}, unix_now_s());
    if (views.empty())
        return fail(kNoSuchJob, "job " + shown_name(job.id, job.task) +
                                    " is not malleable: it was submitted without --malleable");
    put(options.json ? ended_json(views.front()) : ended_text(views.front(), job.end_s));
    return kOk;
}

// Finds the one job that is meant. Otherwise prints the error and returns the exit status.
std::variant<slurm::ListedJob, int> find_job(const WantedJob &wanted) {
    const slurm::Listing listing = slurm::list_jobs();
    // The controller's published explanations may still contain it.
    if (!listing.error.empty() && !wanted.task) return slurm::ListedJob{.id = wanted.number};
    if (!listing.error.empty()) return fail(kNoAnswer, listing.error);
    std::vector<slurm::ListedJob> found;
    for (const slurm::ListedJob &job : listing.jobs)
        if (wanted.is(job.id, job.task)) found.push_back(job);
    if (found.empty())
        return fail(kNoSuchJob, "Slurm has no record of job " + wanted.text() +
                                    " (see ringstat history " + wanted.text() + ")");
    if (found.size() > 1)
        return fail(kUsage, "job " + wanted.text() + " is an array: name one of its tasks (as " +
                                wanted.text() + "_1)");
    return found.front();
}

int show_explanation(const Options &options) {
    const PluginView plugin = view_plugin();
    if (!plugin.error.empty()) return fail(kNoAnswer, plugin.error);
    const auto found = find_job(*options.job);
    if (const int *status = std::get_if<int>(&found)) return *status;
    const auto &job = std::get<slurm::ListedJob>(found);
    const double now_s = unix_now_s();
    const auto find = [&](const Explanations &told) {
        return std::ranges::find(told.explanations, job.id, &controller::Explanation::job_id);
    };
    Explanations told = explain_all(plugin, now_s);
    // A job without a published explanation has just been submitted, or has ended.
    if (told.published_s && find(told) == told.explanations.end()) told = compute_all(plugin);
    if (!told.error.empty()) return fail(kNoAnswer, told.error);
    if (!told.published_s && !plugin.note.empty()) fail(kOk, plugin.note);
    const auto one = find(told);
    if (one == told.explanations.end()) return explain_other(job, options);
    put(options.json
            ? explanation_json(*one, told, now_s)
            : explanation_text(printable(shown_name(job.id, job.task)), *one, told, now_s));
    return kOk;
}

int show_diag(const Options &options) {
    std::string path = options.diag_file;
    if (path.empty()) {
        const PluginView plugin = view_plugin();
        if (!plugin.error.empty()) return fail(kNoAnswer, plugin.error);
        path = plugin.diag;
    }
    const DiagReport report = read_diag(path, unix_now_s());
    if (!report.error.empty()) return fail(kNoAnswer, report.error);
    put(options.json ? report.json : report.text);
    return kOk;
}

int run(const Options &options) {
    switch (options.command) {
        case Command::explain:
            return show_explanation(options);
        case Command::history:
            return show_history(options);
        case Command::chart:
            return show_chart(options);
        case Command::acct:
            return show_accounting(options);
        case Command::check:
            return check_config(options);
        case Command::detach:
            return detach(options);
        case Command::diag:
            return show_diag(options);
        case Command::list:
        case Command::top:
            break;
    }
    if (const auto status = check_filter(options.filter)) return *status;
    return options.command == Command::top ? top(options) : list(options);
}

}  // namespace
}  // namespace ringrt::ringstat

int main(int argc, char **argv) {
    using namespace ringrt::ringstat;
    Options options;
    try {
        if (const auto status = parse_options(argc, argv, options)) return *status;
        return ringrt::end_of_output(run(options), "ringstat");
    } catch (const std::exception &error) {
        return fail(kNoAnswer, error.what());
    }
}
