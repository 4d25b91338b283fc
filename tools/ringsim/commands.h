// SPDX-License-Identifier: BSD-3-Clause
// The command line of ringsim. Status: 0 done, 1 stopped by the user (partial results are written),
// 2 wrong usage or input.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/workload/workload.h"

namespace ringrt::sim {

int run_command_line(int argc, char **argv);

struct CompareArguments {
    std::vector<PolicySpec> policies;
    std::vector<std::string> workloads;
    std::string profiles_dir;
    std::string models = "auto";
    std::string placement = "pack";
    SimOptions sim;
    double restart_spread = 0;
    double start_s = -1;                               // negative: min(restart, 30)
    int malleable_max = 0;                             // 0: the cluster
    double parallel = 0.9;                             // WorkloadOptions::parallel
    double share = 1;                                  // share of the jobs that may be resized
    bool cluster_given = false, cluster_seen = false;  // on the command line; in the workload
    std::vector<std::string> plugin_settings;          // KEY=VALUE of malleable.yaml
    std::string command;                               // as given, for the page
    double payback = 1;
    bool merge = false;
    bool no_timings = false;
    bool quiet = false;
    int threads = 0;  // 0: all cores
    std::string json_path, csv_path, svg_path, html_path, trace_path;
};

struct RunArguments {
    std::string scenario;     // a YAML file
    bool controller = false;  // with the plugin's own loop
    // For its events: JSON lines as the plugin logs them; empty: standard output.
    std::string events_path;
    CompareArguments report;  // output options
};

struct PaperArguments {
    int seeds = 40;
    double restart_s = 10;
};

// Prints the tables of arXiv 1908.08082 as this simulator reproduces them.
int run_paper(const PaperArguments &arguments);

// Prints the duration of one decision by the number of jobs.
int run_scale();

// Simulates every workload under every policy and writes the requested output.
int run_compare(const CompareArguments &arguments);
int run_compared(const CompareArguments &arguments, const std::vector<Workload> &workloads);

// Runs a scenario (only if built with libyaml).
int run_scenario(const RunArguments &arguments);

}  // namespace ringrt::sim
