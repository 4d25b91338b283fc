// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringbench/train.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "libringrt/bucketing/bound.h"
#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/timeline.h"
#include "tools/ringbench/replay.h"
#include "tools/usage.h"

namespace ringrt::bench {
namespace {

using namespace bucketing;
using Clock = std::chrono::steady_clock;

struct Options {
    std::string profile, json;
    int rank = -1, size = 0;
    std::string rendezvous;
    std::vector<std::string> rules;
    int rounds = 7;
    int adaptive = 0;  // iterations; 0: compare the rules
    double time_scale = 1;
    bool double_batch = false;
};

void scale_times(Profile &profile, double factor) {
    for (Gradient &gradient : profile.gradients) {
        gradient.ready_us *= factor;
        gradient.forward_us *= factor;
    }
}

Profile load(const Options &options) {
    std::ifstream file(options.profile, std::ios::binary);
    if (!file) throw std::runtime_error(options.profile + ": cannot be read");
    std::ostringstream text;
    text << file.rdbuf();
    std::string error;
    auto profile = parse_profile(text.str(), error);
    if (!profile) throw std::runtime_error(options.profile + ": " + error);
    for (Gradient &gradient : profile->gradients) {
        gradient.bytes = gradient.bytes / 4 * 4;  // whole floats
    }
    scale_times(*profile, options.time_scale);
    return *std::move(profile);
}

// Blocks of very different sizes, to separate latency from bandwidth.
Plan mixed_sizes(const Profile &profile) {
    Plan plan;
    size_t number = 0;
    uint64_t filled = 0;
    for (uint32_t id : ready_order(profile)) {
        if (filled == 0) plan.blocks.push_back(whole_block(profile, Phase::allreduce, {}));
        plan.blocks.back().pieces.push_back({id, 0, profile.gradients[id].bytes});
        filled += profile.gradients[id].bytes;
        if (filled < (uint64_t{64} << 10 << 2 * (number % 5))) continue;  // 64 KiB to 16 MiB
        filled = 0;
        ++number;
    }
    return plan;
}

double quantile(std::vector<double> values, double part) {
    std::ranges::sort(values);
    return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

// One message's time on a link and between ranks that were idle, as before most blocks of a step.
// Blocks in close succession hide each other's latency.
double measure_latency_us(Communicator &communicator) {
    if (communicator.size() == 1) return 0;
    constexpr int kBlocks = 32;
    const auto ranks = static_cast<size_t>(communicator.size());
    std::vector<float> data(1024 * ranks), own(1024);
    std::vector<double> us;
    for (int i = 0; i < kBlocks; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const Clock::time_point start = Clock::now();
        need(communicator, communicator.reduce_scatter(data.data(), own.data(), data.size(),
                                                       RINGRT_FLOAT32, RINGRT_SUM));
        us.push_back(Replay::us_since(start));
    }
    double latency_us = quantile(us, 0.5) / static_cast<double>(ranks - 1);
    need(communicator, communicator.broadcast(&latency_us, sizeof latency_us, 0));
    return latency_us;
}

// Measures as the exchange does while training, from its own blocks, but on a link that is never
// idle. After a pause, empty buffers on the path accept some blocks faster than the link does.
Network measure_link(Communicator &communicator, const Profile &profile,
                     std::vector<std::vector<float>> &buffers) {
    Profile busy = profile;
    for (Gradient &gradient : busy.gradients) gradient.ready_us = gradient.forward_us = 0;
    Replay replay(communicator, busy, mixed_sizes(profile), buffers);
    for (int round = 0; round < 4; ++round) (void)replay.iterate();
    const LinkEstimate measured = replay.state().link;
    double link[2] = {measured.gbps, measured.alpha_us};
    need(communicator, communicator.broadcast(link, sizeof link, 0));
    return {.gbps = link[0],
            .alpha_us = std::max(link[1], measure_latency_us(communicator)),
            .ranks = communicator.size()};
}

struct Row {
    std::string rule;
    double predicted_ms = 0, median_ms = 0, p10_ms = 0;
    double cpu_ms = 0;  // of the exchange per iteration, without the transfers
};

std::vector<Row> replay_all(Communicator &communicator, const Profile &profile,
                            const Network &network, const Options &options,
                            std::vector<std::vector<float>> &buffers) {
    std::vector<std::unique_ptr<Replay>> replays;
    std::vector<Row> rows;
    for (const Rule &rule : all_rules()) {
        const std::string name(rule.name);
        if (!options.rules.empty() && std::ranges::find(options.rules, name) == options.rules.end())
            continue;
        replays.push_back(
            std::make_unique<Replay>(communicator, profile, rule.plan(profile, network), buffers));
        rows.push_back(
            {name, simulate(profile, network, replays.back()->plan()).iteration_us / 1e3});
    }
    std::vector<std::vector<double>> times(replays.size());
    std::vector<double> first_cpu_us(replays.size());
    for (int round = 0; round <= options.rounds; ++round) {
        for (size_t i = 0; i < replays.size(); ++i) {
            need(communicator, communicator.barrier());
            const double ms = replays[i]->iterate() / 1e3;
            // The first iteration lays out the plan and touches the memory.
            if (round == 0) first_cpu_us[i] = replays[i]->cpu_us();
            if (round > 0) times[i].push_back(ms);
        }
    }
    for (size_t i = 0; i < rows.size(); ++i) {
        rows[i].median_ms = quantile(times[i], 0.5);
        rows[i].p10_ms = quantile(times[i], 0.1);
        rows[i].cpu_ms = (replays[i]->cpu_us() - first_cpu_us[i]) / 1e3 / options.rounds;
    }
    return rows;
}

void report(const Options &options, const Network &network, double bound_ms,
            const std::vector<Row> &rows) {
    std::printf("%d ranks, measured link: %.2f Gb/s, alpha %.0f us; bound with alpha %.1f ms\n",
                network.ranks, network.gbps, network.alpha_us, bound_ms);
    std::printf("%-12s%14s%14s%10s%10s%10s\n", "RULE", "PREDICTED_MS", "MEASURED_MS", "P10_MS",
                "ERROR", "CPU_MS");
    nlohmann::ordered_json out = {{"profile", options.profile}, {"ranks", network.ranks},
                                  {"gbps", network.gbps},       {"alpha_us", network.alpha_us},
                                  {"bound_ms", bound_ms},       {"rounds", options.rounds}};
    for (const Row &row : rows) {
        std::printf("%-12s%14.1f%14.1f%10.1f%9.1f%%%10.2f\n", row.rule.c_str(), row.predicted_ms,
                    row.median_ms, row.p10_ms, 100 * (row.median_ms / row.predicted_ms - 1),
                    row.cpu_ms);
        out["rules"].push_back({{"rule", row.rule},
                                {"predicted_ms", row.predicted_ms},
                                {"measured_ms", row.median_ms},
                                {"p10_ms", row.p10_ms},
                                {"cpu_ms", row.cpu_ms}});
    }
    if (!options.json.empty() && !(std::ofstream(options.json) << out.dump(2) << '\n')) {
        throw std::runtime_error(options.json + ": cannot be written");
    }
}

// Like a training program: learns the plan, and adapts it to changes.
void train_adaptively(Communicator &communicator, const Profile &profile, const Options &options,
                      std::vector<std::vector<float>> &buffers) {
    Profile now = profile;
    Replay replay(communicator, now, {}, buffers);
    const Clock::time_point start = Clock::now();
    if (communicator.rank() == 0)
        std::printf("%9s%9s%9s%9s%10s%9s\n", "ITERATION", "AT_S", "MS", "GBPS", "ALPHA_US", "PLAN");
    for (int iteration = 0; iteration < options.adaptive; ++iteration) {
        if (options.double_batch && iteration == options.adaptive / 3) scale_times(now, 2);
        if (options.double_batch && iteration == options.adaptive * 2 / 3) scale_times(now, 0.5);
        const double ms = replay.iterate() / 1e3;
        const GradientReducer::State state = replay.state();
        if (communicator.rank() != 0) continue;
        std::printf("%9d%9.2f%9.1f%9.2f%10.0f%9llu\n", iteration, Replay::us_since(start) / 1e6, ms,
                    state.link.gbps, state.link.alpha_us,
                    static_cast<unsigned long long>(state.plan_version));
    }
}

void run(const Options &options) {
    const Profile profile = load(options);
    CommunicatorConfig config;
    config.rank = options.rank;
    config.size = options.size;
    config.rendezvous = options.rendezvous;
    Communicator communicator(config);
    need(communicator, communicator.start());
    std::vector<std::vector<float>> buffers;
    for (const Gradient &gradient : profile.gradients) buffers.emplace_back(gradient.bytes / 4);
    if (options.adaptive > 0) {
        train_adaptively(communicator, profile, options, buffers);
        return need(communicator, communicator.finish());
    }
    const Network network = measure_link(communicator, profile, buffers);
    const std::vector<Row> rows = replay_all(communicator, profile, network, options, buffers);
    if (communicator.rank() == 0) {
        report(options, network, bound_of(profile, network).with_alpha_us / 1e3, rows);
    }
    need(communicator, communicator.finish());
}

}  // namespace

int train(int argc, char **argv) {
    Options options;
    std::vector<std::string> names;
    for (const Rule &rule : all_rules()) names.emplace_back(rule.name);
    CLI::App app(
        "Replays a gradient profile under each grouping rule: computation is a sleep, gradients "
        "are sent.",
        "ringbench train");
    app.add_option("PROFILE", options.profile, "CSV in the format of ringplan(1)")->required();
    app.add_option("--rank", options.rank, "this rank; with --size (default: Slurm's environment)")
        ->check(CLI::Range(0, 1023));
    app.add_option("--size", options.size, "ranks")->check(CLI::Range(1, 1024));
    app.add_option("--rendezvous", options.rendezvous,
                   "rendezvous with rank 0: a file that all ranks see, or tcp:HOST:PORT");
    app.add_option("-r,--rules", options.rules, "only these rules")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(names));
    app.add_option("--rounds", options.rounds, "iterations of each rule, interleaved")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    app.add_option("--adaptive", options.adaptive,
                   "instead, train this many iterations under the learned plan")
        ->check(CLI::Range(1, 1000000));
    app.add_option("--time-scale", options.time_scale, "factor on the profile's times")
        ->check(CLI::Range(1e-3, 1e3));
    app.add_flag("--double-batch", options.double_batch,
                 "with --adaptive: twice the times in the middle third of the iterations");
    app.add_option("--json", options.json, "rank 0 writes the result to this file");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return end_of_usage(app, error, "ringbench train");
    }
    try {
        run(options);
        return end_of_output(0, "ringbench train");
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ringbench train: %s\n", error.what());
        return 1;
    }
}

}  // namespace ringrt::bench
