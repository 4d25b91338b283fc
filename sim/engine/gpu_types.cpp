// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "sim/engine/pool.h"
#include "slurm_plugin/policy/engine/knapsack.h"
#include "slurm_plugin/policy/value.h"

namespace ringrt::sim {
namespace {

using policy::Job;
using policy::Worth;

// Another assignment must gain more than this share: less is rounding.
constexpr double kWorthIt = 1e-6;

bool is_better(Worth a, Worth b) {
    if (a.served != b.served) return a.served > b.served;
    return a.sum > b.sum + kWorthIt * std::abs(b.sum);
}

Worth sum_of(Worth a, Worth b) { return {a.served + b.served, a.sum + b.sum}; }

// All jobs as seen on each GPU type, and the type that each job is on.
class Assignment {
  public:
    Assignment(std::vector<std::unique_ptr<Pool>> &pools, const PolicySpec &policy, double now);
    void improve();
    void carry_out(double now);

  private:
    struct Row {
        std::size_t index, from, to;  // the job; its present and its planned type
        double present_s = 0;         // time that it needs where it runs; 0: pending
        std::vector<Job> on;          // by type
    };
    void see(const JobState &job, std::size_t from, double now);
    [[nodiscard]] Worth worth_of(std::size_t gpu_type);
    void level(Row &row) const;
    [[nodiscard]] double moved(const Row &row, int gpus, double value, const Job &job) const;
    bool improve(Row &row);

    std::vector<std::unique_ptr<Pool>> &pools_;
    const PolicySpec &policy_;
    bool moves_gpu_types_;
    std::vector<Row> rows_;
    std::vector<Worth> worth_;  // by type
};

Assignment::Assignment(std::vector<std::unique_ptr<Pool>> &pools, const PolicySpec &policy,
                       double now)
    : pools_(pools), policy_(policy), moves_gpu_types_(pools[0]->options().moves_gpu_types) {
    for (std::size_t gpu_type = 0; gpu_type < pools.size(); ++gpu_type)
        for (std::size_t i = 0; i < pools[gpu_type]->size(); ++i)
            see(pools[gpu_type]->job(i), gpu_type, now);
    std::sort(rows_.begin(), rows_.end(),
              [](const Row &a, const Row &b) { return a.index < b.index; });
    for (std::size_t gpu_type = 0; gpu_type < pools.size(); ++gpu_type)
        worth_.push_back(worth_of(gpu_type));
}

void Assignment::see(const JobState &job, std::size_t from, double now) {
    Row &row = rows_.emplace_back(Row{.index = job.index, .from = from, .to = from, .on = {}});
    policy::SimFacts facts;
    row.on.resize(pools_.size());
    for (std::size_t gpu_type = 0; gpu_type < pools_.size(); ++gpu_type)
        pools_[gpu_type]->describe(job, now, row.on[gpu_type], facts);
    for (Job &seen : row.on) seen.weight = job.spec->weight;
    level(row);
    if (job.gpus > 0)
        row.present_s = policy::Valuation(row.on[from], policy_.options).seconds_at(job.gpus);
}

// A job's value counts its own time on one GPU (value.h). For one job this must be the same time on
// all types, that on the first type; otherwise a faster type would seem to be worth less.
void Assignment::level(Row &row) const {
    const policy::GainRule gain = policy_.options.gain;
    if (gain == policy::GainRule::absolute || gain == policy::GainRule::hull) return;
    const double power = gain == policy::GainRule::short_first ? policy_.options.power : 1;
    const double first_ms = std::max(policy::kStepMin_ms, policy::step_ms(row.on[0], 1));
    for (Job &job : row.on)
        job.weight *=
            std::pow(first_ms / std::max(policy::kStepMin_ms, policy::step_ms(job, 1)), power);
}

// The value of a job that would move from another type, with its restart: counted as in value.h for
// a job that is resized.
double Assignment::moved(const Row &row, int gpus, double value, const Job &job) const {
    const policy::Options &options = policy_.options;
    const double restart_s = options.payback * job.restart_s;
    if (options.gain == policy::GainRule::absolute || options.gain == policy::GainRule::hull)
        return value - job.weight * restart_s;
    const double seconds = policy::Valuation(job, options).seconds_at(gpus);
    const double changes = 1 + row.present_s / policy::size_lasts_s(job, options);
    return value * seconds / (seconds + restart_s * changes);
}

Worth Assignment::worth_of(std::size_t gpu_type) {
    std::vector<Job> jobs;
    std::vector<const Row *> rows;
    for (const Row &row : rows_) {
        if (row.to != gpu_type) continue;
        jobs.push_back(row.on[gpu_type]);
        rows.push_back(&row);
    }
    if (jobs.empty()) return {};
    const std::vector<policy::SimFacts> facts(jobs.size());
    const auto decision = policy_.run({jobs, facts}, pools_[gpu_type]->capacity());
    Worth worth;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const int gpus = decision[i].gpus;
        if (gpus == 0) continue;
        ++worth.served;
        const double value = policy::value(jobs[i], gpus, policy_.options);
        const bool comes = rows[i]->present_s > 0 && rows[i]->from != gpu_type;
        worth.sum += comes ? moved(*rows[i], gpus, value, jobs[i]) : value;
    }
    return worth;
}

bool Assignment::improve(Row &row) {
    const std::size_t from = row.to;
    std::size_t best = from;
    Worth before, best_total, best_from, best_to;
    row.to = pools_.size();  // on no type
    const Worth without = worth_of(from);
    for (std::size_t gpu_type = 0; gpu_type < pools_.size(); ++gpu_type) {
        if (gpu_type == from) continue;
        row.to = gpu_type;
        const Worth with = worth_of(gpu_type);
        before = sum_of(worth_[from], worth_[gpu_type]);
        const Worth total = sum_of(without, with);
        if (!is_better(total, before)) continue;
        // Relative to staying, so that types compare with each other.
        const Worth gain{total.served - before.served, total.sum - before.sum};
        if (best != from && !is_better(gain, best_total)) continue;
        best = gpu_type;
        best_total = gain;
        best_from = without;
        best_to = with;
    }
    row.to = best;
    if (best == from) return false;
    worth_[from] = best_from;
    worth_[best] = best_to;
    return true;
}

void Assignment::improve() {
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
        bool better = false;
        for (Row &row : rows_)
            if (row.present_s == 0 || moves_gpu_types_) better |= improve(row);
        if (!better) return;
    }
}

void Assignment::carry_out(double now) {
    for (const Row &row : rows_) {
        if (row.to != row.from) pools_[row.to]->take_in(pools_[row.from]->give_up(row.index, now));
        pools_[row.to]->weigh(row.index, row.on[row.to].weight);
    }
}

}  // namespace

void choose_gpu_types(std::vector<std::unique_ptr<Pool>> &pools, const PolicySpec &policy,
                      double now) {
    Assignment assignment(pools, policy, now);
    assignment.improve();
    assignment.carry_out(now);
}

}  // namespace ringrt::sim
