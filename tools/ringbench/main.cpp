// SPDX-License-Identifier: BSD-3-Clause
// ringbench: allreduce of ringrt, each MPI and Gloo, interleaved in one run.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tools/ringbench/group.h"
#include "tools/ringbench/machine.h"
#include "tools/ringbench/report.h"
#include "tools/ringbench/train.h"
#include "tools/usage.h"

using namespace ringrt::bench;

namespace {

struct Options {
    std::vector<int> ranks{2};
    std::vector<uint64_t> bytes{1 << 10, 8 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
    std::string buffers = "private";
    std::vector<std::string> implementations;
    int rounds = 15;
    double round_ms = 20;
    std::string csv, json, netns;
};

// Per implementation: seconds per operation, by round.
struct Samples {
    std::vector<double> measure, cycle, compute;
    uint64_t wrong = 0;
    uint32_t iterations = 1;
    bool failed = false;
};

// One operation of each kind in every round, implementations in turn.
class Session {
  public:
    Session(Groups &groups, const Options &options, size_t implementations, int ranks,
            uint64_t bytes)
        : groups_(groups), options_(options), samples_(implementations) {
        command_ = {.task = Task::Measure,
                    .shared = options.buffers == "shared",
                    .bytes = bytes,
                    .iterations = 1,
                    .ranks = uint32_t(ranks)};
    }

    const std::vector<Samples> &run() {
        for (size_t i = 0; i < samples_.size(); ++i) warm_up(i);
        for (int round = 0; round < options_.rounds; ++round) {
            for (size_t k = 0; k < samples_.size(); ++k) {
                one_round((k + size_t(round)) % samples_.size());  // rotates which one is first
            }
        }
        return samples_;
    }

  private:
    double seconds(size_t i, Task task, uint32_t iterations) {
        Command command = command_;
        command.task = task, command.iterations = iterations;
        auto result = groups_.run(i, command);
        if (!result || result->failed != 0) samples_[i].failed = true;
        if (!result) return 0;
        samples_[i].wrong += result->wrong;
        return result->seconds / iterations;
    }
    void warm_up(size_t i) {
        Samples &mine = samples_[i];
        mine.failed = !groups_.there(i);
        if (mine.failed) return;
        double once = seconds(i, Task::Measure, 2);
        mine.iterations =
            uint32_t(std::clamp(options_.round_ms / 1e3 / std::max(once, 1e-9), 1.0, 2000.0));
        seconds(i, Task::Measure, mine.iterations);
    }
    void one_round(size_t i) {
        Samples &mine = samples_[i];
        if (mine.failed) return;
        seconds(i, Task::Verify, 1);
        mine.measure.push_back(seconds(i, Task::Measure, mine.iterations));
        uint32_t some = std::max(1u, mine.iterations / 2);
        mine.compute.push_back(seconds(i, Task::Compute, some));
        mine.cycle.push_back(seconds(i, Task::Cycle, some));
    }

    Groups &groups_;
    const Options &options_;
    std::vector<Samples> samples_;
    Command command_{};
};

Row row_of(const std::string &name, int ranks, const Options &options, uint64_t bytes,
           const Samples &samples, const Machine &machine) {
    Row row{.implementation = name,
            .ranks = ranks,
            .shared = options.buffers == "shared",
            .bytes = bytes};
    double median = quantile(samples.measure, 0.5);
    row.median_us = median * 1e6;
    row.p10_us = quantile(samples.measure, 0.1) * 1e6;
    row.busbw_GBps = median > 0 ? 2.0 * (ranks - 1) / ranks * double(bytes) / median / 1e9 : 0;
    row.cycle_us = (quantile(samples.cycle, 0.5) - quantile(samples.compute, 0.5)) * 1e6;
    row.floor_us = 2.0 * ranks * double(bytes) / machine.memory_GBps / 1e3;
    row.wrong = samples.wrong;
    return row;
}

int bench(const Options &options) {
    std::vector<Row> rows;
    Machine machine;
    bool sound = true;
    for (int ranks : options.ranks) {
        machine = look_at_machine(ranks);
        auto implementations = find_implementations(options.implementations, ranks);
        Groups groups(implementations, ranks, 30, options.netns);
        for (uint64_t bytes : options.bytes) {
            Session session(groups, options, implementations.size(), ranks, bytes / 4 * 4);
            const auto &samples = session.run();
            for (size_t i = 0; i < implementations.size(); ++i) {
                if (samples[i].failed) {
                    if (i == 0) sound = false;
                    continue;
                }
                rows.push_back(
                    row_of(implementations[i].name, ranks, options, bytes, samples[i], machine));
                sound = sound && rows.back().wrong == 0;
            }
        }
    }
    if (!options.csv.empty()) std::ofstream(options.csv) << csv(rows);
    if (!options.json.empty()) std::ofstream(options.json) << json(rows, machine);
    fputs(table(rows, machine).c_str(), stdout);
    if (!sound) fprintf(stderr, "ringbench: wrong sums, or ringrt failed: see above\n");
    return sound ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc > 1 && std::string_view(argv[1]) == "train") {
        return train(argc - 1, argv + 1);
    }
    Options options;
    CLI::App app{
        "Measures allreduce (fp32, sum, in place) of ringrt, each MPI and Gloo, interleaved."};
    ringrt::set_style(app, "ringbench");
    app.add_option("-n,--ranks", options.ranks, "numbers of ranks, for example 2,4")
        ->delimiter(',')
        ->check(CLI::Range(1, 256));
    app.add_option("-b,--bytes", options.bytes, "buffer sizes, for example 1KB,64KB,16MB")
        ->delimiter(',')
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(uint64_t(4), uint64_t(1) << 36));
    app.add_option("--buffers", options.buffers,
                   "private (malloc) or shared (ringrt_mem_alloc; ringrt only)")
        ->check(CLI::IsMember({"private", "shared"}));
    app.add_option("-i,--impl", options.implementations,
                   "some of ringrt, openmpi, openmpi-huge, mpich, mpich-huge, gloo (default: all "
                   "that were built)")
        ->delimiter(',');
    app.add_option("--rounds", options.rounds, "rounds of each size")->check(CLI::Range(1, 10000));
    app.add_option("--round-ms", options.round_ms, "length of one round of one implementation")
        ->check(CLI::Range(0.1, 10000.0));
    app.add_option("--netns", options.netns,
                   "run rank i in the network namespace NETNS-i, over its eth0");
    app.add_option("--csv", options.csv, "write rows to this file");
    app.add_option("--json", options.json, "write rows and the machine's own limits to this file");
    app.footer(
        "CYCLE_US is the whole cycle (write every element, allreduce, read every element) less "
        "the\n"
        "same without the allreduce. `ringbench train --help`: replays of training.\n" +
        ringrt::exit_statuses("1 also if a sum is wrong"));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        return ringrt::end_of_usage(app, e, "ringbench");
    }
    try {
        return ringrt::end_of_output(bench(options), "ringbench");
    } catch (const std::exception &e) {
        fprintf(stderr, "ringbench: %s\n", e.what());
        return 1;
    }
}
