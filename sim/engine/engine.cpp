// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/engine/pool.h"

namespace ringrt::sim {

double restart_seconds(const JobSpec &spec, const SimOptions &options) {
    return spec.restart_s >= 0 ? spec.restart_s : options.restart_s;
}

int SimOptions::total_gpus() const {
    if (gpu_types.empty()) return nodes * gpus_per_node;
    int sum = 0;
    for (const GpuType &gpu_type : gpu_types) sum += gpu_type.nodes * gpu_type.gpus_per_node;
    return sum;
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Engine {
  public:
    Engine(const Workload &workload, const PolicySpec &policy, const SimOptions &options);
    RunResult run(const std::atomic<bool> *stop, std::atomic<uint64_t> *done);

  private:
    [[nodiscard]] std::size_t active() const;
    [[nodiscard]] double next_decision() const;
    void pass(double next, std::atomic<uint64_t> *done);

    const Workload &workload_;
    const PolicySpec &policy_;
    const SimOptions &options_;
    std::vector<std::unique_ptr<Pool>> pools_;  // by GPU type
    std::size_t arrived_ = 0;
    double now_ = 0;
    RunResult result_;
};

Engine::Engine(const Workload &workload, const PolicySpec &policy, const SimOptions &options)
    : workload_(workload), policy_(policy), options_(options) {
    result_.workload = workload.name;
    result_.policy = policy.name;
    result_.jobs.resize(workload.jobs.size());
    if (options.gpu_types.empty()) {
        pools_.push_back(std::make_unique<Pool>(workload.jobs, policy, options, 0, result_));
        return;
    }
    int first_node = 0;
    std::vector<Estimator *> estimators;
    for (std::size_t k = 0; k < options.gpu_types.size(); ++k) {
        SimOptions here = options;
        here.nodes = options.gpu_types[k].nodes;
        here.gpus_per_node = options.gpu_types[k].gpus_per_node;
        pools_.push_back(
            std::make_unique<Pool>(workload.gpu_types.at(k), policy, here, first_node, result_));
        first_node += here.nodes;
        estimators.push_back(&pools_.back()->estimator());
    }
    for (Estimator *estimator : estimators) estimator->meet(estimators);
}

std::size_t Engine::active() const {
    std::size_t jobs = 0;
    for (const auto &pool : pools_) jobs += pool->size();
    return jobs;
}

double Engine::next_decision() const {
    const double arrival =
        arrived_ < workload_.jobs.size() ? workload_.jobs[arrived_].submit_s : kNever;
    if (options_.interval_s > 0) {
        const double step = options_.interval_s;
        const double next = (std::floor(now_ / step) + 1) * step;
        return active() == 0 ? std::max(next, std::ceil(arrival / step) * step) : next;
    }
    double next = arrival;
    for (const auto &pool : pools_) next = std::min(next, now_ + pool->first_finish());
    return next;
}

void Engine::pass(double next, std::atomic<uint64_t> *done) {
    const double share = options_.total_gpus() / std::max<double>(1, double(active()));
    for (const auto &pool : pools_) pool->advance(now_, next - now_, share);
    now_ = next;
    for (const auto &pool : pools_) pool->retire(done);
    for (; arrived_ < workload_.jobs.size() && workload_.jobs[arrived_].submit_s <= now_;
         ++arrived_)
        pools_[0]->admit(arrived_);
    if (pools_.size() > 1) choose_gpu_types(pools_, policy_, now_);
    for (const auto &pool : pools_) pool->decide(now_);
}

RunResult Engine::run(const std::atomic<bool> *stop, std::atomic<uint64_t> *done) {
    const auto start = std::chrono::steady_clock::now();
    while (arrived_ < workload_.jobs.size() || active() > 0) {
        if (stop && stop->load(std::memory_order_relaxed)) {
            result_.stopped = true;
            break;
        }
        const double next = next_decision();
        if (next == kNever) throw std::logic_error(policy_.name + ": jobs wait forever");
        pass(next, done);
    }
    for (const auto &pool : pools_) pool->end(now_);
    result_.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
}

}  // namespace

RunResult simulate(const Workload &workload, const PolicySpec &policy, const SimOptions &options,
                   const std::atomic<bool> *stop, std::atomic<uint64_t> *done) {
    return Engine(workload, policy, options).run(stop, done);
}

}  // namespace ringrt::sim
