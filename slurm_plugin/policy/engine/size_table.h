// SPDX-License-Identifier: BSD-3-Clause
// The jobs of one decision as flat arrays: each job's ladder of sizes and what each is worth,
// worked out once, so that the rounds of a decision touch a few bytes of a job and not its whole
// record.
//
// Everything is indexed by rank: running jobs first (nobody is stopped for another's first GPUs),
// then by priority, arrival and id. So no result depends on the order of the input.
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

// A job that keeps its size is a ladder of that one size.
struct Row {
    int min = 1;  // GPUs at level 0; 0: a pinned job that waits
    int now = 0;  // GPUs it runs with
    int max = 1;
    int first_value = 0;   // into SizeTable::values, of level 0
    int first_growth = 0;  // into SizeTable::growths_, of level 0
    Level top = 0;         // the highest level it may grow to
    Level peak = 0;        // the lowest of those up to top that none is worth more than
    Level stay = kWaits;   // where it may stay: its present size, less on an overcommitted node
    bool fixed = false;
    bool by_parts = false;  // Job::by_parts, of one that runs
    uint32_t id = 0;
    std::span<const NodeShare> held;  // the job's own
};

inline constexpr int kAhead = 6;  // so many jobs ahead what lies scattered is fetched

struct Growth {
    double gain = 0;    // value per GPU added
    Level to = kWaits;  // kWaits: none is a gain
};

class SizeTable {
  public:
    SizeTable(std::span<const Job> jobs, const Capacity &capacity, const Options &options);

    [[nodiscard]] int size() const { return static_cast<int>(rows_.size()); }
    [[nodiscard]] const Row &row(int rank) const { return rows_[static_cast<std::size_t>(rank)]; }
    // Where a job runs. Of a job a few ranks on it is fetched meanwhile: passes go up the ranks,
    // and each would be waited for.
    [[nodiscard]] std::span<const NodeShare> held(int rank) const {
        if (rank + kAhead < size()) __builtin_prefetch(row(rank + kAhead).held.data());
        return row(rank).held;
    }
    [[nodiscard]] const Job &job(int rank) const { return *jobs_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] int index(int rank) const { return order_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] int gpus(int rank, Level level) const {
        return level < 0 ? 0 : row(rank).min << level;
    }
    // Minus infinity for a growth that does not pay back its restart. A growth that the gain rule
    // wants may still not: the rules weigh jobs against each other, and some cap what a nearly
    // finished one is worth.
    [[nodiscard]] double value(int rank, Level level) const {
        return level < 0 ? 0 : values_[static_cast<std::size_t>(row(rank).first_value + level)];
    }
    // The best growth from `from` up to level `most`: one doubling in the paper's rule, any number
    // of them in the others, which so walk the upper hull of the job's value and escape a first
    // doubling that loses.
    [[nodiscard]] Growth best_growth(int rank, Level from, Level most) const {
        const Row &row = this->row(rank);
        if (from < 0 || from >= most || from == row.peak) return {};
        if (from > row.peak) return growth_from(row, from, std::min(most, row.top));
        const Growth &best = growths_[static_cast<std::size_t>(row.first_growth + from)];
        if (best.to == kWaits) return growth_from(row, from, std::min(most, row.peak));
        return best.to <= most ? best : growth_from(row, from, most);
    }
    // The level of a size on the job's ladder; kWaits for none.
    [[nodiscard]] Level level_of(int rank, int gpus) const {
        return static_cast<Level>(Ladder{row(rank).min, row(rank).max}.level(gpus));
    }
    [[nodiscard]] bool anybody_runs() const { return !rows_.empty() && rows_[0].now > 0; }

  private:
    void add(const Job &job, int stay_gpus, const Options &options);
    void add_fixed(Row row, const Job &job, const Valuation &value);
    void add_values(Row &row, const Job &job, Level last, const Valuation &value);
    [[nodiscard]] Growth growth_from(const Row &row, Level from, Level most) const;

    bool one_doubling_;
    std::vector<Row> rows_;
    std::vector<double> values_;
    std::vector<Growth>
        growths_;  // by level below a job's peak: of those that growth from MIN takes
    std::vector<const Job *> jobs_;
    std::vector<int> order_;
};

}  // namespace ringrt::policy
