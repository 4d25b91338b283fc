// SPDX-License-Identifier: BSD-3-Clause
#include <build_config.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "sim/engine/policy_spec.h"
#include "tools/ringsim/commands.h"
#include "tools/usage.h"

namespace ringrt::sim {
namespace {

std::string policy_help() {
    std::string text =
        "Policies (NAME, or NAME@oracle, NAME@learned, NAME@alone, NAME@wrong, NAME@prior for its "
        "knowledge of speeds):\n";
    for (const PolicyRow &row : policy_rows()) {
        char line[200];
        std::snprintf(line, sizeof line, "  %-22s %s [%s]\n", std::string(row.name).c_str(),
                      std::string(row.help).c_str(),
                      std::string(knowledge_name(row.knowledge)).c_str());
        text += line;
    }
    return text;
}

// NAME=NODESxGPUS
GpuType parse_gpu_type(const std::string &text) {
    GpuType gpu_type;
    int read = 0;
    const std::size_t at = std::min(text.find('='), text.size());
    gpu_type.name = text.substr(0, at);
    const bool fits = at < text.size() && at > 0 &&
                      gpu_type.name.find_first_of("/.") == std::string::npos &&
                      std::sscanf(text.c_str() + at, "=%5dx%2d%n", &gpu_type.nodes,
                                  &gpu_type.gpus_per_node, &read) == 2 &&
                      text.size() == at + static_cast<std::size_t>(read) && gpu_type.nodes >= 1 &&
                      gpu_type.gpus_per_node >= 1 && gpu_type.gpus_per_node <= 64;
    if (!fits)
        throw CLI::ValidationError("--gpu-types", "expected NAME=NODESxGPUS, got \"" + text + "\"");
    return gpu_type;
}

void add_cluster(CLI::App &app, CompareArguments &a) {
    app.add_option("--nodes", a.sim.nodes, "nodes of the cluster")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_option("--gpus-per-node", a.sim.gpus_per_node, "GPUs of each node")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    app.add_option_function<std::vector<std::string>>(
           "--gpu-types",
           [&a](const std::vector<std::string> &gpu_types) {
               for (const std::string &gpu_type : gpu_types)
                   a.sim.gpu_types.push_back(parse_gpu_type(gpu_type));
           },
           "NAME=NODESxGPUS,...: a cluster of several GPU types; placements-NAME.csv has their "
           "speeds")
        ->delimiter(',');
    app.add_flag("!--keep-gpu-type", a.sim.moves_gpu_types,
                 "with --gpu-types: a job stays on the GPU type that it started on");
    app.add_option("--restart", a.sim.restart_s,
                   "seconds for which a resize stops a job (stock Slurm: 121)")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str();
    app.add_option("--restart-spread", a.restart_spread,
                   "X: restarts of an application take --restart times a random 1/(1+X) to 1+X")
        ->check(CLI::Range(0.0, 100.0));
    app.add_option("--start", a.start_s,
                   "seconds a first start takes (default: as --restart, at most 30: the rest of a "
                   "restart's gap is Slurm's hold after a requeue)")
        ->check(CLI::Range(0.0, 86400.0));
    app.add_flag("--pause", a.sim.pause,
                 "malleable jobs may be paused: doubling and goodput can take all their GPUs");
    app.add_flag("--whole-restarts", a.sim.whole_restarts,
                 "policies that stop no job do not resize it during a start or restart");
    app.add_option("--interval", a.sim.interval_s,
                   "seconds between decisions; 0: at each arrival and finish")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str();
    app.add_option("--payback", a.payback,
                   "a growth must save more seconds than this times its restart takes")
        ->check(CLI::Range(0.0, 1000.0))
        ->capture_default_str();
    app.add_option(
           "--models", a.models,
           "knowledge of speeds for all policies: oracle, learned, wrong, or auto (each its own)")
        ->check(CLI::IsMember({"auto", "oracle", "learned", "wrong"}))
        ->capture_default_str();
    app.add_option("--placement", a.placement,
                   "of jobs on nodes: pack (the same for all policies), or authors (as each "
                   "policy's own simulator places them, to reproduce published figures)")
        ->check(CLI::IsMember({"pack", "authors"}))
        ->capture_default_str();
    app.add_option("--wrong-by", a.sim.wrong_by, "error of NAME@wrong and NAME@prior")
        ->check(CLI::Range(0.0, 0.95))
        ->capture_default_str();
    app.add_option("--grade", a.sim.grade_every,
                   "compare every Nth decision with the exact optimum of the policy's gain rule")
        ->check(CLI::Range(0, 1000000));
    app.add_option("--seed", a.sim.seed, "seed of all random numbers")->capture_default_str();
}

void add_output(CLI::App &app, CompareArguments &a) {
    app.add_option("--json", a.json_path, "write the results as JSON (- for standard output)");
    app.add_option("--csv", a.csv_path, "write one row per job and run");
    app.add_option("--svg", a.svg_path, "write the GPU allocation over time (of the last run)");
    app.add_option("--html", a.html_path, "write a self-contained page with all results");
    app.add_option("--trace", a.trace_path, "write a Chrome trace (of the last run)");
    app.add_flag("--no-timings", a.no_timings,
                 "write 0 for decide_ms_max and wall_s: the same seed then gives the same bytes");
    app.add_flag("-q,--quiet", a.quiet, "show no progress");
    app.add_option("--threads", a.threads, "runs at a time (default: all cores)")
        ->check(CLI::Range(1, 1024));
}

void add_compare(CLI::App &app, CompareArguments &a, std::vector<std::string> &names) {
    // Parsed only after the whole line: a wrong name is wrong input, not wrong usage.
    app.add_option("--policies", names, "comma-separated names")
        ->delimiter(',')
        ->default_str("fifo,plugin");
    app.add_option("workload,--workload", a.workloads,
                   "files: Pollux, ElasticFlow, SWF (*.swf), or the output of sacct -P")
        ->required();
    app.add_option("--profiles", a.profiles_dir,
                   "directory of the applications' measurements (Pollux) or throughput tables "
                   "(ElasticFlow)");
    app.add_flag("--merge", a.merge, "treat all files as one workload");
    app.add_option("--malleable-max", a.malleable_max,
                   "MAX of jobs whose trace has none (default: the cluster)")
        ->check(CLI::Range(1, 65536));
    app.add_option("--parallel", a.parallel,
                   "for jobs whose trace has no scaling data: the part of a one-GPU step that "
                   "shrinks with the GPUs")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option(
           "--share", a.share,
           "the part of the jobs that may be resized; the others keep the size they requested")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--telemetry", a.sim.telemetry_s,
                   "seconds between two reports of a job to the plugin; 0: jobs report nothing")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str();
    app.add_option("--set", a.plugin_settings, "KEY=VALUE of malleable.yaml, for policy plugin");
    add_cluster(app, a);
    add_output(app, a);
    app.footer(policy_help);
}

#ifdef RINGSIM_HAVE_YAML
void add_run(CLI::App &app, RunArguments &a) {
    app.add_option("scenario", a.scenario, "YAML file: cluster, jobs, policies (ringsim(1))")
        ->required();
    app.add_flag("--controller", a.controller,
                 "run the plugin's own resize loop in virtual time, and write its event log");
    app.add_option("--events", a.events_path,
                   "with --controller: where the event log goes (default: standard output)");
    add_output(app, a.report);
    app.footer(policy_help);
}
#endif

// "ringsim october.txt" is short for "ringsim compare october.txt".
std::vector<std::string> with_compare(int argc, char **argv) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    constexpr std::array<std::string_view, 4> kCommands{"compare", "run", "paper", "scale"};
    if (!words.empty() && !words[0].starts_with('-') &&
        std::find(kCommands.begin(), kCommands.end(), words[0]) == kCommands.end() &&
        std::filesystem::exists(words[0]))
        words.insert(words.begin(), "compare");
    return words;
}

}  // namespace

int run_command_line(int argc, char **argv) {
    const std::vector<std::string> with_command = with_compare(argc, argv);
    CLI::App app{"ringsim: simulate schedulers of malleable training jobs", "ringsim"};
    set_style(app, "ringsim");
    app.footer(exit_statuses());
    app.require_subcommand(1);
    CompareArguments compare;
    CLI::App *compare_command =
        app.add_subcommand("compare", "simulate workloads under several policies, side by side");
    std::vector<std::string> policies;
    add_compare(*compare_command, compare, policies);
    PaperArguments paper;
    CLI::App *paper_command =
        app.add_subcommand("paper", "reproduce the tables of arXiv 1908.08082");
    paper_command->add_option("--seeds", paper.seeds, "arrival sequences to average over")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    paper_command->add_option("--restart", paper.restart_s, "seconds a stop and restart takes")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str();
#ifdef RINGSIM_HAVE_YAML
    RunArguments run;
    CLI::App *run_command = app.add_subcommand(
        "run", "simulate a scenario, with its policies or the plugin's own loop");
    add_run(*run_command, run);
#endif
    CLI::App *scale_command =
        app.add_subcommand("scale", "time one decision for up to 100,000 jobs");
    try {
        app.parse(std::vector<std::string>(with_command.rbegin(), with_command.rend()));
    } catch (const CLI::ParseError &error) {
        return end_of_usage(app, error, "ringsim");
    }
    if (policies.empty()) policies = {"fifo", "plugin"};
    for (const std::string &name : policies) compare.policies.push_back(parse_policy(name));
    compare.cluster_given =
        compare_command->count("--nodes") > 0 || compare_command->count("--gpus-per-node") > 0;
    compare.command = "ringsim";
    for (const std::string &word : with_command) compare.command += " " + word;
    if (compare_command->parsed()) return run_compare(compare);
    if (scale_command->parsed()) return run_scale();
#ifdef RINGSIM_HAVE_YAML
    if (run_command->parsed()) return run_scenario(run);
#endif
    return run_paper(paper);
}

}  // namespace ringrt::sim
