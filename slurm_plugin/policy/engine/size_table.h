// SPDX-License-Identifier: BSD-3-Clause
// The jobs of one decision as flat arrays: each job's ladder of sizes and their values, computed
// once. The rounds of a decision then read a few bytes of a job instead of its whole record.
//
// Everything is indexed by rank: running jobs first (no job is stopped to give another its first
// GPUs), then by priority, arrival and id. So no result depends on the order of the input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "slurm_plugin/policy/policy.h"
#include "slurm_plugin/policy/value.h"

namespace ringrt::policy {

using Level = int8_t;  // of the ladder: size = min << level
inline constexpr Level kWaits = -1;
inline constexpr Level kAnyLevel = std::numeric_limits<Level>::max();

inline std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

// A job that keeps its size has a ladder of one size.
struct Row {
    int min = 1;  // GPUs at level 0; 0: a pinned job that is pending
    int now = 0;  // GPUs it runs on
    int max = 1;
    int first_value = 0;   // index into SizeTable::values_, of level 0
    int first_growth = 0;  // index into SizeTable::growths_, of level 0
    Level top = 0;         // the highest level it may grow to
    Level peak = 0;        // the lowest level of the largest value, up to top
    Level stay = kWaits;   // the level it may keep: its present size, less on an overcommitted node
    bool fixed = false;
    bool by_parts = false;  // Job::by_parts, for running jobs only
    uint32_t id = 0;
    std::span<const NodeShare> held;  // the job's own
};

inline constexpr int kAhead = 6;  // prefetch distance for scattered data, in jobs

struct Growth {
    double gain = 0;    // value per GPU added
    Level to = kWaits;  // kWaits: no growth has a gain
};

class SizeTable {
  public:
    SizeTable(std::span<const Job> jobs, const Capacity &capacity, const Options &options);

    [[nodiscard]] int size() const { return static_cast<int>(rows_.size()); }
    [[nodiscard]] const Row &row(int rank) const { return rows_[static_cast<std::size_t>(rank)]; }
    // Where a job runs. Prefetches a job a few ranks ahead: passes go up the ranks, and each would
    // miss the cache.
    [[nodiscard]] std::span<const NodeShare> held(int rank) const {
        if (rank + kAhead < size()) __builtin_prefetch(row(rank + kAhead).held.data());
        return row(rank).held;
    }
    [[nodiscard]] const Job &job(int rank) const { return *jobs_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] int index(int rank) const { return order_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] int gpus(int rank, Level level) const {
        return level < 0 ? 0 : row(rank).min << level;
    }
    // Minus infinity for a growth that does not pay for its restart. A growth that the gain rule
    // prefers may still not pay: the rules weigh jobs against each other, and some cap the value of
    // a nearly finished job.
    [[nodiscard]] double value(int rank, Level level) const {
        return level < 0 ? 0 : values_[static_cast<std::size_t>(row(rank).first_value + level)];
    }
    // The best growth from `from` up to level `most`: one doubling under the paper's rule, any
    // number under the others. Those follow the upper hull of the job's value, so they escape a
    // first doubling that loses.
    [[nodiscard]] Growth best_growth(int rank, Level from, Level most) const {
        const Row &row = this->row(rank);
        if (from < 0 || from >= most || from == row.peak) return {};
        if (from > row.peak) return growth_from(row, from, std::min(most, row.top));
        const Growth &best = growths_[static_cast<std::size_t>(row.first_growth + from)];
        if (best.to == kWaits) return growth_from(row, from, std::min(most, row.peak));
        return best.to <= most ? best : growth_from(row, from, most);
    }
    // The level of a size on the job's ladder; kWaits: not on it.
    [[nodiscard]] Level level_of(int rank, int gpus) const {
        return static_cast<Level>(Ladder{row(rank).min, row(rank).max}.level(gpus));
    }
    [[nodiscard]] bool has_running_job() const { return !rows_.empty() && rows_[0].now > 0; }

  private:
    void add(const Job &job, int stay_gpus, const Options &options);
    void add_fixed(Row row, const Job &job, const Valuation &value);
    void add_values(Row &row, const Job &job, Level last, const Valuation &value);
    [[nodiscard]] Growth growth_from(const Row &row, Level from, Level most) const;

    bool one_doubling_;
    std::vector<Row> rows_;
    std::vector<double> values_;
    std::vector<Growth>
        growths_;  // by level below a job's peak: the growths that growth from MIN takes
    std::vector<const Job *> jobs_;
    std::vector<int> order_;
};

}  // namespace ringrt::policy
