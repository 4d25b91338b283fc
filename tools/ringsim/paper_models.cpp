// SPDX-License-Identifier: BSD-3-Clause
// The models behind the paper's arguments: the collectives' costs, why sizes double, and what that
// costs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "model/speed.h"
#include "slurm_plugin/policy/baselines/baselines.h"
#include "slurm_plugin/policy/engine/fast_doubling.h"
#include "tools/ringsim/paper.h"

namespace ringrt::sim {
namespace {

// 10 Gb/s: 25 us per message, 0.8 ns per byte, 0.1 ns to add one; ResNet-50's 102 MB of gradients.
constexpr double kAlpha_s = 25e-6, kBeta_s = 0.8e-9, kGamma_s = 0.1e-9, kBytes = 102e6;
constexpr int kGpus = 64;

// A step whose computation, two seconds on one GPU, scales with the GPUs, and whose exchange is one
// all-reduce by halving and doubling.
double trapped_step_s(int w) {
    return 2.0 / w + collective_s(Collective::halving_doubling, w, kBytes);
}

std::vector<float> trapped_curve() {
    std::vector<float> ms;
    for (int w = 1; w <= kGpus; ++w) ms.push_back(static_cast<float>(1000 * trapped_step_s(w)));
    return ms;
}

// The paper's job on any number of GPUs: its speed model fitted to its four recalled points.
model::SpeedModel paper_model() {
    std::vector<model::SpeedSample> samples;
    for (std::size_t i = 0; i < kPaperSizes.size(); ++i)
        samples.push_back({kPaperSizes[i], 1000 * kPaperEpoch_s[i], 1});
    return model::fit_speed_model(samples);
}

// The paper's objective: the sum of all remaining times.
double sum_of_times(const std::vector<policy::Job> &jobs,
                    const std::vector<policy::Allotment> &decision) {
    double sum = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        sum += jobs[i].steps_left * policy::step_ms(jobs[i], decision[i].gpus);
    return sum;
}

}  // namespace

double collective_s(Collective collective, int w, double bytes) {
    const double part = double(w - 1) / w;
    if (collective == Collective::ring)
        return 2 * (w - 1) * kAlpha_s + 2 * part * bytes * kBeta_s + part * bytes * kGamma_s;
    const double log = std::floor(std::log2(w));
    const double folded = std::exp2(log), q = (folded - 1) / folded;
    if (folded == w)
        return 2 * log * kAlpha_s + 2 * part * bytes * kBeta_s + part * bytes * kGamma_s;
    return 2 * (log + 1) * kAlpha_s + (2 * q + 2) * bytes * kBeta_s + (q + 1) * bytes * kGamma_s;
}

void print_collectives() {
    std::puts(
        "Seconds of one all-reduce of 102 MB (alpha 25 us, beta 0.8 ns/B, gamma 0.1 ns/B)\n"
        "  workers      ring   halving-doubling (folded where w is no power of two)");
    for (const int w : {2, 4, 7, 8, 9, 12, 15, 16, 17, 32, 64})
        std::printf("  %7d  %8.4f  %8.4f\n", w, collective_s(Collective::ring, w, kBytes),
                    collective_s(Collective::halving_doubling, w, kBytes));
}

void print_trap() {
    std::puts(
        "\nWhy sizes double: a step of 2 s of computing on one GPU and one such all-reduce by "
        "halving and doubling\n  GPUs       s a step");
    for (const int w : {4, 7, 8, 9, 15, 16, 32, 64})
        std::printf("  %4d  %13.4f\n", w, trapped_step_s(w));
    const std::vector<float> curve = trapped_curve();
    const policy::Capacity capacity{.node_gpus = std::vector<int>(8, 8)};
    const std::vector<policy::Job> jobs{
        {.id = 1, .gpus_max = kGpus, .steps_left = 1e5, .curve_ms = curve}};
    const std::vector<policy::SimFacts> facts(1);
    std::printf(
        "  one job on %d free GPUs: one more at a time (Optimus) gives it %d, doubling %d\n", kGpus,
        policy::decide_optimus({jobs, facts}, capacity, {})[0].gpus,
        policy::decide_doubling_fast(jobs, capacity, {})[0].gpus);
}

// The step times are convex in w, so adding one GPU at a time, to the largest saving, reaches the
// optimum over all integers.
void print_price_of_the_ladder() {
    constexpr int kDraws = 200;
    std::puts(
        "\nThe price of powers of two: the sum of all remaining times under doubling, over the "
        "optimum over all integers\n(the paper's job by its speed model on its recalled epoch "
        "times, 1 to 160 epochs left, 64 GPUs, 200 draws)\n  jobs  mean gap  worst");
    const model::SpeedModel speed = paper_model();
    const policy::Capacity capacity{.node_gpus = std::vector<int>(8, 8)};
    std::mt19937_64 random(1);
    for (const int count : {3, 5, 8, 12, 20, 30, 40, 64}) {
        double sum = 0, worst = 0;
        for (int draw = 0; draw < kDraws; ++draw) {
            std::vector<policy::Job> jobs;
            for (int i = 0; i < count; ++i)
                jobs.push_back({.id = static_cast<uint32_t>(i + 1),
                                .gpus_max = kGpus,
                                .steps_left = double(1 + random() % 160),
                                .restart_s = 0,
                                .speed = speed});
            const std::vector<policy::SimFacts> facts(jobs.size());
            const double best =
                sum_of_times(jobs, policy::decide_optimus({jobs, facts}, capacity, {}));
            const double ladder =
                sum_of_times(jobs, policy::decide_doubling_fast(jobs, capacity, {}));
            sum += ladder / best - 1;
            worst = std::max(worst, ladder / best - 1);
        }
        std::printf("  %4d  %6.1f %%  %4.1f %%\n", count, 100 * sum / kDraws, 100 * worst);
    }
}

void print_stop_and_restart(double restart_s) {
    const double half = kPaperEpochs / 2, at_4 = kPaperEpoch_s[2], at_8 = kPaperEpoch_s[3];
    const double stay = kPaperEpochs * at_4, move = half * at_4 + restart_s + half * at_8;
    std::printf(
        "\nStop and restart: 160 epochs on 4 GPUs take %.0f s; moved to 8 GPUs half-way, a "
        "restart of %g s included, %.0f s (%.0f %% less)\n",
        stay, restart_s, move, 100 * (1 - move / stay));
}

}  // namespace ringrt::sim
