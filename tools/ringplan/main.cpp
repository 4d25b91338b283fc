// SPDX-License-Identifier: BSD-3-Clause
// ringplan: plans and times one iteration of a gradient profile under each grouping rule.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/ringplan/chrome_trace.h"
#include "tools/ringplan/comparison.h"
#include "tools/ringplan/grade.h"
#include "tools/ringplan/models.h"
#include "tools/ringplan/paper.h"
#include "tools/ringplan/report.h"
#include "tools/ringplan/svg.h"
#include "tools/usage.h"

namespace ringrt::ringplan {
namespace {

using namespace bucketing;

constexpr int kOk = 0, kFailed = 1;

enum class Task { compare, speeds, grade, paper };

struct Options {
    Task task = Task::compare;
    std::vector<std::string> profiles;
    std::vector<double> gbps{10}, alpha_us{50};
    std::vector<int> ranks{8};
    std::vector<double> rank_gbps;
    bool servers = false;
    std::vector<std::string> rules;
    std::string svg, trace, blocks;
    bool json = false;
    int batch_at = 0;  // ranks; 0: the batch per rank is fixed
};

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

Profile load(const std::string &path) {
    std::error_code fault;
    const bool regular = path == "-" || !std::filesystem::is_directory(path, fault);
    std::ifstream file;
    if (regular && path != "-") file.open(path, std::ios::binary);
    if (!regular || (path != "-" && !file)) {
        throw Failure(path + ": cannot be read (expected a CSV of gradients)");
    }
    std::ostringstream text;
    std::istream &in = path == "-" ? std::cin : file;
    constexpr size_t kMost = (size_t{64} << 20) + 1;  // the reader rejects more
    std::string buffer(1 << 16, '\0');
    for (size_t total = 0; total < kMost && in;) {
        in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
        text.write(buffer.data(), in.gcount());
        total += static_cast<size_t>(in.gcount());
    }
    std::string error;
    auto profile = parse_profile(text.str(), error);
    if (!profile) throw Failure(path + ": " + error);
    profile->name = path == "-" ? "stdin" : std::filesystem::path(path).stem().string();
    return *std::move(profile);
}

void write(const std::string &path, const std::string &text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw Failure(path + ": cannot be written");
}

std::vector<const Rule *> chosen_rules(const std::vector<std::string> &names) {
    std::vector<const Rule *> out;
    for (const Rule &rule : all_rules()) {
        if (names.empty() || std::ranges::find(names, rule.name) != names.end())
            out.push_back(&rule);
    }
    return out;
}

std::vector<Comparison> compare_all(const std::vector<Profile> &profiles, const Options &options) {
    std::vector<Comparison> out;
    const auto rules = chosen_rules(options.rules);
    for (const Profile &profile : profiles) {
        for (double gbps : options.gbps) {
            for (int ranks : options.ranks) {
                for (double alpha_us : options.alpha_us) {
                    out.push_back(
                        compare(profile, {gbps, alpha_us, ranks, options.servers}, rules));
                }
            }
        }
    }
    return out;
}

// The predictive rule's step time at each size, in the format of ringfit(1).
std::string speeds(const std::vector<Profile> &profiles, const Options &options) {
    if (profiles.size() * options.gbps.size() * options.alpha_us.size() != 1)
        throw Failure("--speeds describes one job: give one profile, bandwidth and alpha");
    std::ostringstream out;
    out << "gpus,step_ms\n";
    for (int ranks : options.ranks) {
        // The same batch over more ranks: each rank computes less.
        const double factor = options.batch_at > 0 ? 1.0 * options.batch_at / ranks : 1;
        const Profile profile = scaled(profiles.front(), factor);
        const Network network{options.gbps.front(), options.alpha_us.front(), ranks,
                              options.servers};
        const Comparison result = compare(profile, network, {find_rule("predictive")});
        out << ranks << ',' << result.outcomes.front().timeline.iteration_us / 1e3 << '\n';
    }
    return out.str();
}

std::string listing(const std::vector<Comparison> &comparisons, const Options &options) {
    if (options.json) return json(comparisons);
    std::string out;
    for (const Comparison &comparison : comparisons) {
        if (!out.empty()) out += '\n';
        if (options.blocks.empty()) out += table(comparison);
        for (const Outcome &outcome : comparison.outcomes) {
            if (outcome.rule == options.blocks) out += blocks_table(comparison, outcome);
        }
    }
    return out;
}

std::string compared(const std::vector<Profile> &profiles, const Options &options) {
    const std::vector<Comparison> comparisons = compare_all(profiles, options);
    if (comparisons.size() > 1 && !(options.svg.empty() && options.trace.empty())) {
        throw Failure(
            "--svg and --trace show one point: give one profile, bandwidth, ring and alpha");
    }
    if (!options.svg.empty()) write(options.svg, svg(comparisons.front()));
    if (!options.trace.empty()) write(options.trace, chrome_trace(comparisons.front()));
    return listing(comparisons, options);
}

std::string output_of(const std::vector<Profile> &profiles, const Options &options) {
    switch (options.task) {
        case Task::compare:
            return compared(profiles, options);
        case Task::speeds:
            return speeds(profiles, options);
        case Task::grade: {
            const Grade result = grade(profiles);
            return options.json ? grade_json(result) : grade_text(result);
        }
        case Task::paper: {
            const Paper result = paper(profiles);
            return options.json ? paper_json(result) : paper_text(result);
        }
    }
    return {};
}

int run(const Options &options) {
    std::vector<Profile> profiles;
    for (const std::string &path : options.profiles) profiles.push_back(load(path));
    const std::string out = output_of(profiles, options);
    std::fwrite(out.data(), 1, out.size(), stdout);
    if (std::fflush(stdout) != 0) throw Failure("standard output: cannot be written");
    return kOk;
}

std::vector<std::string> rule_names() {
    std::vector<std::string> names;
    for (const Rule &rule : all_rules()) names.emplace_back(rule.name);
    return names;
}

// CLI::Range accepts NaN.
CLI::Validator finite_range(double low, double high) {
    return CLI::Validator(
        [low, high](const std::string &text) -> std::string {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return {};
            return "got " + text + ", expected a number from " + CLI::detail::to_string(low) +
                   " to " + CLI::detail::to_string(high);
        },
        "FLOAT");
}

std::string rules_help() {
    std::string out = "Rules:\n";
    for (const Rule &rule : all_rules()) {
        out += "  " + std::string(rule.name) + std::string(15 - rule.name.size(), ' ') +
               std::string(rule.summary) + "\n";
    }
    return out + "Example: ringplan --gbps 3 --ranks 8 --alpha 300 --svg why.svg resnet50.csv\n";
}

void add_network_options(CLI::App &app, Options &options) {
    app.add_option("-b,--gbps", options.gbps,
                   "bandwidth of each rank's link, Gb/s, 0.001 to 100000")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(finite_range(1e-3, 1e5))
        ->capture_default_str();
    app.add_option("-a,--alpha", options.alpha_us, "latency of a message, us, 0 to 1e6")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(finite_range(0, 1e6))
        ->capture_default_str();
    app.add_option("-w,--ranks", options.ranks, "ranks in the ring, 1 to 100000")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_option("--rank-gbps", options.rank_gbps,
                   "bandwidths of the ranks' links one by one; the slowest one limits all")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(finite_range(1e-3, 1e5))
        ->excludes("--gbps")
        ->excludes("--ranks");
    app.add_flag("--servers", options.servers,
                 "parameter servers instead of a ring: push and pull on separate directions");
}

void add_output_options(CLI::App &app, Options &options) {
    app.add_option("-r,--rules", options.rules, "only these rules")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(rule_names()));
    app.add_option("--blocks", options.blocks, "show this rule's plan block by block")
        ->check(CLI::IsMember(rule_names()));
    app.add_flag("--json", options.json, "JSON instead of a table");
    app.add_flag_callback(
           "--speeds", [&options] { options.task = Task::speeds; },
           "CSV of gpus,step_ms over --ranks under the predictive rule, for ringfit")
        ->excludes("--json");
    app.add_option("--batch-at", options.batch_at,
                   "with --speeds: the ranks on which PROFILE was taken, sharing a fixed batch "
                   "(default: a rank's batch is fixed)")
        ->check(CLI::Range(1, 100000));
    app.add_option("--svg", options.svg, "write the timelines as a picture to this file")
        ->excludes("--servers");
    app.add_option("--trace", options.trace,
                   "write the timelines for chrome://tracing to this file")
        ->excludes("--servers");
}

void add_subcommands(CLI::App &app, Options &options) {
    CLI::App *grading = app.add_subcommand(
        "grade", "the predictive rule against the bound and every other rule, over 54 networks");
    grading->add_option("PROFILE", options.profiles, "CSVs")->required();
    grading->add_flag("--json", options.json, "JSON instead of text");
    CLI::App *papers = app.add_subcommand(
        "paper", "the axes of Prophet's evaluation (ICPP 2021), with parameter servers and a ring");
    papers->add_option("PROFILE", options.profiles, "CSVs of more models");
    papers->add_flag("--json", options.json, "JSON instead of text");
    grading->callback([&options] { options.task = Task::grade; });
    papers->callback([&options] { options.task = Task::paper; });
}

int parse_and_run(int argc, char **argv) {
    Options options;
    CLI::App app("Times one training iteration of a gradient profile under each grouping rule.",
                 "ringplan");
    set_style(app, "ringplan");
    app.footer(rules_help() + exit_statuses());
    app.add_option("PROFILE", options.profiles,
                   "CSV with idx,name,grad_bytes,fwd_us,bwd_us,ready_us; - reads standard input");
    add_network_options(app, options);
    add_output_options(app, options);
    add_subcommands(app, options);
    try {
        app.parse(argc, argv);
        if (options.profiles.empty() && options.task != Task::paper)
            throw CLI::RequiredError("PROFILE");
    } catch (const CLI::ParseError &error) {
        return end_of_usage(app, error, "ringplan");
    }
    if (!options.rank_gbps.empty()) {
        options.gbps = {std::ranges::min(options.rank_gbps)};
        options.ranks = {static_cast<int>(options.rank_gbps.size())};
    }
    return run(options);
}

}  // namespace
}  // namespace ringrt::ringplan

int main(int argc, char **argv) {
    try {
        return ringrt::end_of_output(ringrt::ringplan::parse_and_run(argc, argv), "ringplan");
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ringplan: %s\n", error.what());
        return ringrt::ringplan::kFailed;
    }
}
