// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/options.h"

#include <unistd.h>

#include <ctime>

#include "build_config.h"
#include "tools/ringstat/columns.h"
#include "tools/ringstat/text.h"
#include "tools/ringstat/when.h"
#include "tools/usage.h"

namespace ringrt::ringstat {
namespace {

// The texts on the command line, before parsing.
struct Texts {
    std::vector<std::string> jobs;
    std::optional<std::string> job;
    std::string since, until;
    bool me = false;
};

std::string format_help() {
    std::string help =
        "columns, each %[[.]size]letter; default \"" + std::string(kDefaultFormat) + "\"";
    for (const Column &column : columns())
        help += "\n  %" + std::string(1, column.letter) + " " + std::string(column.header) + ": " +
                std::string(column.help);
    return help;
}

// Empty if all are job ids; otherwise the error.
std::string parse_job_ids(const std::vector<std::string> &texts, std::vector<WantedJob> &out) {
    for (const std::string &text : texts) {
        const auto wanted = parse_wanted(text);
        if (!wanted)
            return "expected a job id (for example 1234 or 1234_5), got \"" +
                   printable(text.substr(0, 40)) + "\"";
        out.push_back(*wanted);
    }
    return "";
}

void add_owner(CLI::App &app, Options &out, Texts &texts) {
    app.add_option("-u,--user", out.filter.users, "only these users' jobs")
        ->delimiter(',')
        ->type_name("USER,...");
    app.add_flag("--me", texts.me, "only my jobs");
}

void add_iterate(CLI::App &app, Options &out, const char *help) {
    app.add_option("-i,--iterate", out.iterate_s, help)
        ->check(CLI::Range(0.1, 86400.0))
        ->type_name("SECONDS");
}

void add_which(CLI::App &app, Options &out, Texts &texts) {
    add_owner(app, out, texts);
    app.add_option("-j,--jobs", texts.jobs, "only these jobs")
        ->delimiter(',')
        ->type_name("JOB,...");
    app.add_option("-t,--states", out.filter.states,
                   "jobs in these states of Slurm (PD,R,…, all); default: not ended")
        ->delimiter(',')
        ->type_name("STATE,...");
    app.add_option("-p,--partition", out.filter.partitions, "only these partitions' jobs")
        ->delimiter(',')
        ->type_name("NAME,...");
    app.add_option("-S,--sort", out.sort, "sort by these columns' letters; -LETTER: largest first")
        ->type_name("LETTER,...");
}

void add_list(CLI::App &app, Options &out, Texts &texts) {
    app.add_flag(
        "-h,--noheader", [&out](int64_t) { out.header = false; },
        "no header line and no summary, as in squeue");
    app.add_option("-o,--format", out.format, format_help())->type_name("FORMAT");
    add_which(app, out, texts);
    add_iterate(app, out, "repeat every SECONDS");
    app.add_flag("--json", out.json, "JSON instead of a table");
}

void add_window(CLI::App &app, Texts &texts) {
    app.add_option("--since", texts.since, "from this time on: " + std::string(kTimeForms))
        ->type_name("TIME");
    app.add_option("--until", texts.until, "up to this time")->type_name("TIME");
}

void add_log(CLI::App &app, Options &out) {
    app.add_option("--log", out.event_log, "the plugin's event log")->type_name("FILE");
}

CLI::App *add_command(CLI::App &app, const char *name, const char *help) {
    CLI::App *command = app.add_subcommand(name, help);
    command->set_help_flag("--help", "show this help");
    return command;
}

void add_commands(CLI::App &app, Options &out, Texts &texts) {
    auto *explain = add_command(app, "explain", "why a job has its size, and what would change it");
    explain->add_option("JOB", texts.job, "job id")->required()->type_name("");
    auto *history = add_command(app, "history", "what the scheduler did to a job, or to all");
    history->add_option("JOB", texts.job, "job id")->type_name("");
    history->add_option("-n,--last", out.last, "only the newest COUNT events")->type_name("COUNT");
    add_window(*history, texts);
    add_log(*history, out);
    auto *chart = add_command(app, "chart", "each job's GPUs over time, from the event log");
    chart->add_option("JOB", texts.jobs, "only these jobs")->type_name("");
    add_window(*chart, texts);
    add_owner(*chart, out, texts);
    chart->add_option("--svg", out.svg, "write a picture to this file")->type_name("FILE");
    add_log(*chart, out);
    auto *top = add_command(app, "top", "the jobs and their GPUs, redrawn; q quits");
    add_which(*top, out, texts);
    add_iterate(*top, out, "redraw every SECONDS (2)");
    auto *acct = add_command(app, "acct", "accounting (sacct) of each training as a whole");
    acct->add_option("JOB", texts.jobs, "only these jobs")->type_name("");
    add_window(*acct, texts);
    add_owner(*acct, out, texts);
    acct->add_flag("-a,--allusers", out.all_users, "all users' jobs, as far as sacct shows them");
    auto *check = add_command(app, "check", "check malleable.yaml");
    check->add_option("FILE", out.yaml_file, "the file; default: the site's")->type_name("");
    check->add_flag("-v,--verbose", out.verbose, "show every value that would be in force");
    auto *diag = add_command(app, "diag", "state of the scheduler's plugin: times and counts");
    diag->add_option("--file", out.diag_file, "the plugin's status file")->type_name("FILE");
    auto *detach = add_command(app, "detach", "hand every malleable job back to Slurm");
    detach->add_option("--wait", out.detach_wait_s, "wait at most SECONDS until it is done (600)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 86400.0));
    for (auto *command : {explain, history, chart, acct, check, diag, detach})
        command->add_flag("--json", out.json, "JSON instead of text");
}

Command command_of(const CLI::App &app) {
    constexpr std::pair<const char *, Command> kCommands[] = {
        {"explain", Command::explain}, {"history", Command::history}, {"chart", Command::chart},
        {"top", Command::top},         {"acct", Command::acct},       {"check", Command::check},
        {"diag", Command::diag},       {"detach", Command::detach}};
    for (const auto &[name, command] : kCommands)
        if (app.got_subcommand(name)) return command;
    return Command::list;
}

std::optional<int> wrong(const std::string &what) {
    std::fprintf(stderr, "ringstat: %s\n", what.c_str());
    return kUsage;
}

std::string read_window(const Texts &texts, Options &out) {
    const auto now_s = static_cast<double>(std::time(nullptr));
    for (const auto &[name, text, value] : {std::tuple{"--since", &texts.since, &out.since_s},
                                            std::tuple{"--until", &texts.until, &out.until_s}}) {
        if (text->empty()) continue;
        const auto moment = parse_when(*text, now_s);
        if (!moment)
            return std::string(name) + ": expected a time (" + std::string(kTimeForms) +
                   "), got \"" + printable(text->substr(0, 40)) + "\"";
        *value = *moment;
    }
    const bool empty_window = out.since_s > 0 && out.until_s > 0 && out.since_s >= out.until_s;
    return empty_window ? "--since: expected a time before --until" : "";
}

std::optional<int> check_values(Options &out, const Texts &texts) {
    if (out.format.empty()) out.format = kDefaultFormat;
    if (const auto cells = parse_format(out.format);
        const auto *what = std::get_if<std::string>(&cells))
        return wrong(*what);
    if (const auto keys = parse_sort(out.sort); const auto *what = std::get_if<std::string>(&keys))
        return wrong(*what);
    if (const std::string what = parse_job_ids(texts.jobs, out.filter.jobs); !what.empty())
        return wrong(out.command == Command::list || out.command == Command::top ? "--jobs: " + what
                                                                                 : what);
    if (const std::string what = read_window(texts, out); !what.empty()) return wrong(what);
    if (texts.me) out.filter.users.push_back(std::to_string(getuid()));
    if (!texts.job) return std::nullopt;
    std::vector<WantedJob> one;
    if (const std::string what = parse_job_ids({*texts.job}, one); !what.empty())
        return wrong(what);
    out.job = one.front();
    return std::nullopt;
}

}  // namespace

std::optional<int> parse_options(int argc, char **argv, Options &out) {
    CLI::App app(
        "ringstat: the malleable jobs of a Slurm cluster, their sizes and why they have them",
        "ringstat");
    Texts texts;
    app.set_help_flag("--help", "show this help");  // -h is squeue's: no header
    set_style(app, "ringstat");
    app.footer(exit_statuses("3 there is no such malleable job"));
    add_list(app, out, texts);
    add_commands(app, out, texts);
    app.require_subcommand(0, 1);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return end_of_usage(app, error, "ringstat");
    }
    out.command = command_of(app);
    return check_values(out, texts);
}

}  // namespace ringrt::ringstat
