// SPDX-License-Identifier: BSD-3-Clause
// Which jobs deserve GPUs: doubling from 0 GPUs (pausing.h, steps 1 to 3). Nodes are ignored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "slurm_plugin/policy/value.h"

namespace ringrt::policy {

// A pending job that a decision should start.
[[nodiscard]] inline bool is_new(const Job &job) {
    return job.gpus_now == 0 && !job.paused && !job.pinned;
}

// A job that runs and may be paused, or is paused.
[[nodiscard]] inline bool can_have_none(const Job &job) {
    if (job.keeps_its_size()) return false;
    return job.gpus_now > 0 ? job.may_pause : job.paused;
}

// The values of all sizes to which jobs may grow, computed once.
class Values {
  public:
    struct Growth {
        double gain = 0;  // value per GPU added
        int to = 0;       // 0: no growth gains
    };
    Values(std::span<const Job> jobs, const Options &options) {
        rows_.reserve(jobs.size());
        values_.reserve(kUsualSizes * jobs.size());
        for (const Job &job : jobs) add(job, Valuation(job, options));
    }
    [[nodiscard]] double at(std::size_t job, int gpus) const {
        const Row &row = rows_[job];
        if (gpus == 0) return 0;
        return gpus == row.now ? row.value_now : value(row, row.ladder.level(gpus));
    }
    // The best growth of a job from `from` GPUs, with at most `free` more.
    [[nodiscard]] Growth best_growth(std::size_t job, int from, int free) const;

  private:
    static constexpr std::size_t kUsualSizes = 8;
    struct Row {
        Ladder ladder;
        int most = 1;  // to which it may grow
        int now = 0;   // which may be off the ladder, or more than `most`
        double value_now = 0;
        std::size_t first = 0;  // index into values_
    };

    void add(const Job &job, const Valuation &valuation) {
        const int most = std::max(job.gpus_min, std::min(job.gpus_max, job.gpus_cap));
        rows_.push_back(
            {.ladder = {job.gpus_min, std::max(most, std::min(job.gpus_max, job.gpus_now))},
             .most = most,
             .now = job.gpus_now,
             .value_now = job.gpus_now > 0 ? valuation.at(job.gpus_now) : 0,
             .first = values_.size()});
        for (const int gpus : rows_.back().ladder.sizes()) values_.push_back(valuation.at(gpus));
    }
    [[nodiscard]] double value(const Row &row, int level) const {
        return values_[row.first + static_cast<std::size_t>(level)];
    }

    std::vector<Row> rows_;
    std::vector<double> values_;
};

// In O(n log n). The jobs must outlive it.
class Selection {
  public:
    Selection(std::span<const Job> jobs, const Capacity &capacity, const Options &options);
    [[nodiscard]] bool runs(std::size_t job) const { return sizes_[job] > 0; }
    // Its node has too few GPUs for the MINs of its jobs.
    [[nodiscard]] bool must_pause(std::size_t job) const { return must_pause_[job]; }
    // What `gpus` GPUs are worth to the job; 0 for none.
    [[nodiscard]] double value(std::size_t job, int gpus) const { return values_.at(job, gpus); }

  private:
    struct Bid {
        double gain = 0;
        uint32_t id = 0;
        std::size_t job = 0;
        int to = 0;
        bool operator<(const Bid &o) const { return gain != o.gain ? gain < o.gain : id > o.id; }
    };

    [[nodiscard]] double first_gain(std::size_t job) const {
        return values_.at(job, jobs_[job].gpus_min) / jobs_[job].gpus_min;
    }
    void free_overcommitted_nodes(const Capacity &capacity);
    void start_in_order();
    void grow();
    void grow_at_once(const std::vector<std::size_t> &growing);
    [[nodiscard]] Values::Growth growth(std::size_t job) const {
        return values_.best_growth(job, sizes_[job], free_);
    }

    std::span<const Job> jobs_;
    Values values_;
    std::vector<bool> must_pause_;
    std::vector<int> sizes_;
    int free_;
};

}  // namespace ringrt::policy
