// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/size_table.h"

#include <algorithm>
#include <limits>

#include "slurm_plugin/policy/engine/overcommit.h"

namespace ringrt::policy {
namespace {

constexpr std::size_t kUsualLevels = 8;
constexpr double kNever = -std::numeric_limits<double>::infinity();

// The fields that the order needs, without the rest of the record.
struct Key {
    double priority, submit_s;
    uint32_t id;
    int index;
    bool operator<(const Key &o) const {
        if (priority != o.priority) return priority > o.priority;
        if (submit_s != o.submit_s) return submit_s < o.submit_s;
        return id < o.id;
    }
};

std::vector<int> canonical_order(std::span<const Job> jobs) {
    const auto running =
        std::ranges::count_if(jobs, [](const Job &job) { return job.gpus_now > 0; });
    std::vector<Key> keys(jobs.size());
    const auto first_waiting = keys.begin() + running;
    auto runs = keys.begin(), waits = first_waiting;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        *(jobs[i].gpus_now > 0 ? runs : waits)++ = {jobs[i].priority, jobs[i].submit_s, jobs[i].id,
                                                    static_cast<int>(i)};
    const auto sort = [](auto begin, auto end) {
        if (!std::is_sorted(begin, end)) std::sort(begin, end);
    };
    sort(keys.begin(), first_waiting);
    sort(first_waiting, keys.end());
    std::vector<int> order(jobs.size());
    std::ranges::transform(keys, order.begin(), &Key::index);
    return order;
}

Level ladder_level(const Job &job, int gpus) {
    return static_cast<Level>(job.ladder().level(gpus));
}

void fetch(const Job &job) {
    const char *bytes = reinterpret_cast<const char *>(&job);
    for (std::size_t line = 0; line < sizeof job; line += 64) __builtin_prefetch(bytes + line);
}

}  // namespace

SizeTable::SizeTable(std::span<const Job> jobs, const Capacity &capacity, const Options &options)
    : one_doubling_(options.gain == GainRule::absolute), order_(canonical_order(jobs)) {
    rows_.reserve(jobs.size());
    jobs_.reserve(jobs.size());
    values_.reserve(kUsualLevels * jobs.size());
    growths_.reserve(kUsualLevels * jobs.size());
    for (const int index : order_) jobs_.push_back(&jobs[static_cast<std::size_t>(index)]);
    const std::vector<int> stay = shrink_overcommitted_nodes(jobs_, capacity, options);
    for (std::size_t rank = 0; rank < jobs_.size(); ++rank) {
        // The records lie in the order of the input: with many jobs, each access would miss the
        // cache.
        if (rank + kAhead < jobs_.size()) fetch(*jobs_[rank + kAhead]);
        add(*jobs_[rank], stay[rank], options);
    }
}

void SizeTable::add(const Job &job, int stay_gpus, const Options &options) {
    const Valuation value(job, options);
    Row row{.min = job.gpus_min,
            .now = job.gpus_now,
            .max = job.gpus_max,
            .first_value = static_cast<int>(values_.size()),
            .first_growth = static_cast<int>(growths_.size()),
            .by_parts = job.by_parts && job.gpus_now > 0,
            .id = job.id,
            .held = job.held};
    if (job.keeps_its_size()) return add_fixed(row, job, value);
    const Level last = std::max(Level{0}, ladder_level(job, job.gpus_max));
    row.stay = ladder_level(job, stay_gpus);
    row.top = std::min(last, std::max(Level{0}, ladder_level(job, job.gpus_cap)));
    if (stay_gpus < job.gpus_now) row.top = std::min(row.top, row.stay);
    add_values(row, job, last, value);
    growths_.resize(growths_.size() + static_cast<std::size_t>(row.peak));
    for (Level level = 0; level >= 0 && level < row.peak;) {
        Growth &growth = growths_[static_cast<std::size_t>(row.first_growth + level)];
        growth = growth_from(row, level, row.peak);
        level = growth.to;
    }
    rows_.push_back(row);
}

void SizeTable::add_fixed(Row row, const Job &job, const Valuation &value) {
    row.min = row.max = job.gpus_now;
    row.stay = job.gpus_now > 0 ? Level{0} : kWaits;
    row.fixed = true;
    values_.push_back(job.gpus_now > 0 ? value.at(job.gpus_now) : 0);
    rows_.push_back(row);
}

void SizeTable::add_values(Row &row, const Job &job, Level last, const Valuation &value) {
    values_.resize(values_.size() + static_cast<std::size_t>(last) + 1);
    double *values = values_.data() + row.first_value;
    const double now_s = value.seconds_at(job.gpus_now > 0 ? job.gpus_now : 1);
    for (Level level = 0; level <= last; ++level) {
        const int gpus = job.gpus_min << level;
        const Valuation::Utility utility = value.utility_at(gpus);
        const bool pays = job.gpus_now == 0 || gpus <= job.gpus_now || utility.seconds < now_s;
        values[level] = pays ? utility.value : kNever;
        if (level <= row.top && values[level] > values[row.peak]) row.peak = level;
    }
}

// If `from` is below the peak, no growth above the peak has a larger gain than the peak itself.
Growth SizeTable::growth_from(const Row &row, Level from, Level most) const {
    if (one_doubling_) most = std::min(most, static_cast<Level>(from + 1));
    const double *values = values_.data() + row.first_value;
    Level best = kWaits;
    double best_more = 0, best_added = 1;
    double added = row.min << from;  // size(to) - size(from), for from + 1
    const double base = added;
    for (Level to = static_cast<Level>(from + 1); to <= most; ++to) {
        const double more = values[to] - values[from];
        if (more * best_added > best_more * added) {  // a larger gain, compared without a division
            best_more = more;
            best_added = added;
            best = to;
        }
        added = 2 * added + base;
    }
    if (best < 0) return {};
    return {.gain = best_more / best_added, .to = best};
}

}  // namespace ringrt::policy
