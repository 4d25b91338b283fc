// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/options.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "build_config.h"
#include "tools/ringstat/columns.h"
#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

constexpr const char *kFooter = R"(
exit status: 0 done; 1 slurmctld does not answer, or the plugin has
written nothing; 2 usage;
3 there is no such malleable job)";

std::string format_help() {
    std::string help =
        "columns, each %[[.]size]letter; default \"" + std::string(kDefaultFormat) + "\"";
    for (const Column &column : columns())
        help += "\n  %" + std::string(1, column.letter) + " " + std::string(column.header) + ": " +
                std::string(column.help);
    return help;
}

// Empty when all are job ids; otherwise what is wrong.
std::string parse_job_ids(const std::vector<std::string> &texts, std::vector<uint32_t> &out) {
    for (const std::string &text : texts) {
        uint32_t id = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
        if (error != std::errc{} || end != text.data() + text.size() || id == 0)
            return "expected a job id (for example 1234), got \"" + printable(text.substr(0, 40)) +
                   "\"";
        out.push_back(id);
    }
    return "";
}

void add_list_options(CLI::App &app, Options &out, std::vector<std::string> &job_texts) {
    app.add_flag(
        "-h,--noheader", [&out](int64_t) { out.header = false; }, "no header line");
    app.add_option("-o,--format", out.format, format_help());
    app.add_option("-u,--user", out.filter.users, "only these users' jobs")->delimiter(',');
    app.add_option("-j,--jobs", job_texts, "only these jobs")->delimiter(',');
    app.add_option("-t,--states", out.filter.states,
                   "jobs in these states of Slurm (PD,R,…, all); default: not ended")
        ->delimiter(',');
    app.add_option("-p,--partition", out.filter.partitions, "only these partitions' jobs")
        ->delimiter(',');
    app.add_option("-i,--iterate", out.iterate_s, "again every so many seconds")
        ->check(CLI::Range(0.1, 86400.0));
}

std::optional<int> wrong(const std::string &what) {
    std::fprintf(stderr, "ringstat: %s\n", what.c_str());
    return kUsage;
}

std::optional<int> check_values(Options &out, const std::vector<std::string> &job_texts,
                                const std::string &job_text) {
    if (out.format.empty()) out.format = kDefaultFormat;
    if (const auto cells = parse_format(out.format);
        const auto *what = std::get_if<std::string>(&cells))
        return wrong(*what);
    if (const std::string what = parse_job_ids(job_texts, out.filter.jobs); !what.empty())
        return wrong("--jobs: " + what);
    std::vector<uint32_t> one;
    if (job_text.empty()) return std::nullopt;
    if (const std::string what = parse_job_ids({job_text}, one); !what.empty()) return wrong(what);
    out.job = one.front();
    return std::nullopt;
}

}  // namespace

std::optional<int> parse_options(int argc, char **argv, Options &out) {
    CLI::App app(
        "ringstat: the malleable jobs of a Slurm cluster, their sizes and why they have them",
        "ringstat");
    std::vector<std::string> job_texts;
    std::string job_text;
    app.set_help_flag("--help", "this text");  // -h is squeue's: no header
    app.set_version_flag("-V,--version", "ringstat " PACKAGE_VERSION);
    app.add_flag("--json", out.json, "JSON instead of a table");
    app.footer(kFooter);
    add_list_options(app, out, job_texts);
    auto *explain =
        app.add_subcommand("explain", "why a job has its size, and what would change it");
    explain->add_option("JOB", job_text, "job id")->required();
    explain->add_flag("--json", out.json, "JSON instead of text");
    auto *history = app.add_subcommand("history", "what the scheduler did to a job, or to all");
    history->add_option("JOB", job_text, "job id");
    history->add_option("--log", out.event_log, "the plugin's event log");
    history->add_flag("--json", out.json, "JSON instead of text");
    auto *diag =
        app.add_subcommand("diag", "how the scheduler's plugin is doing: times and counts");
    diag->add_option("--file", out.diag_file, "what the plugin has written of itself");
    diag->add_flag("--json", out.json, "JSON instead of text");
    for (auto *command : {explain, history, diag}) command->set_help_flag("--help", "this text");
    app.require_subcommand(0, 1);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        return wrong(std::string(error.what()) + " (see ringstat --help)");
    }
    out.command = explain->parsed()   ? Command::explain
                  : history->parsed() ? Command::history
                  : diag->parsed()    ? Command::diag
                                      : Command::list;
    return check_values(out, job_texts, job_text);
}

}  // namespace ringrt::ringstat
