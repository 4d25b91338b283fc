// SPDX-License-Identifier: BSD-3-Clause
// ringstat: what squeue does not say of malleable jobs.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "tools/ringstat/columns.h"
#include "tools/ringstat/options.h"
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
    if (options.event_log.empty())
        return fail(kUsage, "history: give the event log with --log=FILE");
    const History history = read_history(options.event_log, options.job);
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

int run(const Options &options) {
    switch (options.command) {
        case Command::history:
            return show_history(options);
        case Command::explain:
            return fail(kUsage, "explain");
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
