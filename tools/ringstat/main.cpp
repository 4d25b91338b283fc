// SPDX-License-Identifier: BSD-3-Clause
// ringstat: what squeue does not say of malleable jobs.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "tools/ringstat/columns.h"
#include "tools/ringstat/diag.h"
#include "tools/ringstat/options.h"
#include "tools/ringstat/plugin_view.h"
#include "tools/ringstat/report.h"

namespace ringrt::ringstat {
namespace {

double now_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

void put(const std::string &text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int fail(int status, const std::string &what) {
    std::fflush(stdout);
    std::fprintf(stderr, "ringstat: %s\n", what.c_str());
    return status;
}

void print_table(const Options &options, std::span<const JobView> jobs) {
    const auto cells = std::get<std::vector<Cell>>(parse_format(options.format));
    if (options.header) put(header_line(cells) + "\n");
    for (const JobView &job : jobs) put(job_line(cells, job) + "\n");
}

int list_once(const Options &options) {
    const slurm::Listing listing = slurm::list_jobs();
    if (!listing.error.empty()) return fail(kNoAnswer, listing.error);
    const auto jobs = view_jobs(listing.jobs, options.filter, now_s());
    if (options.json)
        put(jobs_json(jobs, now_s()));
    else
        print_table(options, jobs);
    if (!options.filter.jobs.empty() && jobs.empty())
        return fail(kNoSuchJob, "there is no such malleable job (ended ones: --states=all)");
    return kOk;
}

int list_again_and_again(const Options &options) {
    for (;;) {
        const std::time_t now = std::time(nullptr);
        if (!options.json) put(std::ctime(&now));
        list_once(
            options);  // when slurmctld does not answer: its line is said, and it is asked again
        if (std::fflush(stdout) != 0) return kNoAnswer;
        std::this_thread::sleep_for(std::chrono::duration<double>(options.iterate_s));
    }
}

int show_history(const Options &options) {
    std::string path = options.event_log;
    if (path.empty()) {
        const PluginView plugin = view_plugin();
        if (!plugin.error.empty()) return fail(kNoAnswer, plugin.error);
        path = plugin.event_log;
    }
    const History history = read_history(path, options.job);
    if (!history.error.empty()) return fail(kNoAnswer, history.error);
    if (options.json) {
        put(history_json(history.events));
    } else {
        for (const PastEvent &event : history.events) put(event_line(event) + "\n");
    }
    if (options.job != 0 && history.events.empty())
        return fail(kNoSuchJob, "the log says nothing of job " + std::to_string(options.job));
    return kOk;
}

int show_explanation(const Options &options) {
    const PluginView plugin = view_plugin();
    if (!plugin.error.empty()) return fail(kNoAnswer, plugin.error);
    if (!plugin.note.empty()) fail(kOk, plugin.note);
    const JobExplanation told = explain_job(options.job, plugin.options);
    if (!told.error.empty()) return fail(kNoAnswer, told.error);
    if (!told.explanation)
        return fail(kNoSuchJob,
                    "job " + std::to_string(options.job) + " is not malleable, or has ended");
    put(options.json ? explanation_json(*told.explanation, plugin.options.mode)
                     : explanation_text(*told.explanation, plugin.options.mode));
    return kOk;
}

int show_diag(const Options &options) {
    std::string path = options.diag_file;
    if (path.empty()) {
        const PluginView plugin = view_plugin();
        if (!plugin.error.empty()) return fail(kNoAnswer, plugin.error);
        path = plugin.diag;
    }
    const DiagReport report = read_diag(path, now_s());
    if (!report.error.empty()) return fail(kNoAnswer, report.error);
    put(options.json ? report.json : report.text);
    return kOk;
}

int run(const Options &options) {
    switch (options.command) {
        case Command::diag:
            return show_diag(options);
        case Command::history:
            return show_history(options);
        case Command::explain:
            return show_explanation(options);
        case Command::list:
            break;
    }
    return options.iterate_s > 0 ? list_again_and_again(options) : list_once(options);
}

}  // namespace
}  // namespace ringrt::ringstat

int main(int argc, char **argv) {
    using namespace ringrt::ringstat;
    Options options;
    try {
        if (const auto status = parse_options(argc, argv, options)) return *status;
        return run(options);
    } catch (const std::exception &error) {
        return fail(kUsage, error.what());
    }
}
