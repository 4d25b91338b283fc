// SPDX-License-Identifier: BSD-3-Clause
// The duration of one decision by the number of jobs: random jobs, ten GPUs each on nodes of eight,
// on one core. The shortest of several tries, to exclude other load on the machine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include "sim/engine/processor_time.h"
#include "slurm_plugin/policy/engine/packing.h"
#include "slurm_plugin/policy/pausing.h"
#include "tools/ringsim/commands.h"

namespace ringrt::sim {
namespace {

constexpr int kGpusPerJob = 10, kNodeGpus = 8, kTries = 5;

std::vector<policy::Job> random_jobs(int count) {
    std::mt19937_64 random(1);
    const auto uniform = [&](double low, double high) {
        return low + (high - low) * double(random() >> 11) / double(uint64_t{1} << 53);
    };
    std::vector<policy::Job> jobs(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        policy::Job &job = jobs[static_cast<std::size_t>(i)];
        job.id = static_cast<uint32_t>(i + 1);
        job.gpus_max = 64;
        job.submit_s = uniform(0, 1e6);
        job.steps_left = uniform(10, 1e6);
        job.speed.t = {uniform(100, 2000), uniform(0, 5), uniform(0, 100), uniform(0, 200)};
    }
    return jobs;
}

double shortest_ms(const std::vector<policy::Job> &jobs, const policy::Capacity &capacity) {
    double shortest = 0;
    for (int i = 0; i < kTries; ++i) {
        const double start = processor_ms();
        const auto decision = policy::decide_doubling_and_pause(
            jobs, capacity, {.gain = policy::GainRule::short_first});
        const double spent = processor_ms() - start;
        if (i == 0 || spent < shortest) shortest = spent;
        if (decision.size() != jobs.size()) return -1;
    }
    return shortest;
}

// Every job except the first runs as decided; the large ones are placed first.
void run_all_but_first(std::vector<policy::Job> &jobs,
                       const std::vector<policy::Allotment> &decision,
                       const policy::Capacity &capacity) {
    std::vector<std::size_t> order(jobs.size() - 1);
    std::iota(order.begin(), order.end(), std::size_t{1});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return decision[a].gpus > decision[b].gpus;
    });
    policy::Packing packing(capacity);
    for (const std::size_t i : order)
        if (packing.place(decision[i].gpus, &jobs[i].held)) jobs[i].gpus_now = decision[i].gpus;
}

}  // namespace

int run_scale() {
    std::puts(
        "    jobs       GPUs  all new ms  one new ms  us per job and log2(jobs)  may pause ms");
    for (const int count : {100, 1000, 10000, 30000, 100000}) {
        std::vector<policy::Job> jobs = random_jobs(count);
        const policy::Capacity capacity{
            .node_gpus = std::vector<int>(static_cast<std::size_t>(count) * kGpusPerJob / kNodeGpus,
                                          kNodeGpus)};
        const double fresh_ms = shortest_ms(jobs, capacity);
        const auto decision = policy::decide_doubling_and_pause(
            jobs, capacity, {.gain = policy::GainRule::short_first});
        run_all_but_first(jobs, decision, capacity);
        const double next_ms = shortest_ms(jobs, capacity);
        for (policy::Job &job : jobs) job.may_pause = true;
        const double pause_ms = shortest_ms(jobs, capacity);
        std::printf("%8d %10d %11.2f %11.2f %26.3f %13.2f\n", count, count * kGpusPerJob, fresh_ms,
                    next_ms, 1000 * next_ms / (count * std::log2(count)), pause_ms);
    }
    return 0;
}

}  // namespace ringrt::sim
