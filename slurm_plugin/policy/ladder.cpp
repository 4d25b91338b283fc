// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/ladder.h"

#include <algorithm>
#include <limits>

#include "slurm_plugin/policy/gain.h"
#include "slurm_plugin/policy/placement.h"
#include "slurm_plugin/policy/squeeze.h"

namespace ringrt::policy {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// What the order needs, without the rest of the record.
struct Key {
    double priority, submit_s;
    uint32_t id;
    int index;
    bool waits;
    bool operator<(const Key &o) const {
        if (waits != o.waits) return !waits;
        if (priority != o.priority) return priority > o.priority;
        if (submit_s != o.submit_s) return submit_s < o.submit_s;
        return id < o.id;
    }
};

std::vector<int> canonical_order(std::span<const Job> jobs) {
    std::vector<Key> keys(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i)
        keys[i] = {jobs[i].priority, jobs[i].submit_s, jobs[i].id, static_cast<int>(i),
                   jobs[i].gpus_now == 0};
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    std::vector<int> order(jobs.size());
    std::transform(keys.begin(), keys.end(), order.begin(), [](const Key &k) { return k.index; });
    return order;
}

bool keeps_its_size(const Job &job) {
    return job.pinned || (job.gpus_now > 0 && !on_ladder(job, job.gpus_now));
}

Level level_of(const Job &job, int gpus) {
    Level level = kWaits;
    for (int size = job.gpus_min; size <= gpus; size *= 2) {
        ++level;
        if (size > kAnySize / 2) break;
    }
    return level;
}

void fetch(const Job &job) {
    const char *bytes = reinterpret_cast<const char *>(&job);
    for (std::size_t line = 0; line < sizeof job; line += 64) __builtin_prefetch(bytes + line);
}

}  // namespace

Ladders::Ladders(std::span<const Job> jobs, const Capacity &capacity, const Options &options)
    : one_doubling_(options.gain == GainRule::absolute), order_(canonical_order(jobs)) {
    rows_.reserve(jobs.size());
    jobs_.reserve(jobs.size());
    values_.reserve(8 * jobs.size());
    best_.reserve(8 * jobs.size());
    for (const int index : order_) jobs_.push_back(&jobs[static_cast<std::size_t>(index)]);
    const std::vector<int> stay = sizes_to_stay(jobs_, capacity, options);
    for (std::size_t rank = 0; rank < jobs_.size(); ++rank) {
        // The records lie in the order of the input: of many, each would be waited for.
        if (rank + kAhead < jobs_.size()) fetch(*jobs_[rank + kAhead]);
        add(*jobs_[rank], stay[rank], options);
    }
}

void Ladders::add(const Job &job, int stay_gpus, const Options &options) {
    const Valuation value(job, options);
    Row row{.min = job.gpus_min,
            .now = job.gpus_now,
            .max = job.gpus_max,
            .first_value = static_cast<int>(values_.size()),
            .id = job.id,
            .held = job.held};
    if (keeps_its_size(job)) {
        row.min = row.max = job.gpus_now;
        row.stay = job.gpus_now > 0 ? Level{0} : kWaits;
        row.fixed = true;
        values_.push_back(job.gpus_now > 0 ? value.at(job.gpus_now) : 0);
        best_.push_back(kWaits);
        rows_.push_back(row);
        return;
    }
    const Level last = std::max(Level{0}, level_of(job, job.gpus_max));
    row.stay = level_of(job, stay_gpus);
    row.top = std::min(last, std::max(Level{0}, level_of(job, job.gpus_believed)));
    if (stay_gpus < job.gpus_now) row.top = std::min(row.top, row.stay);
    const double now_s = value.seconds_at(job.gpus_now > 0 ? job.gpus_now : 1);
    for (Level level = 0; level <= last; ++level) {
        const int gpus = job.gpus_min << level;
        const Valuation::Both both = value.both_at(gpus);
        const bool pays = job.gpus_now == 0 || gpus <= job.gpus_now || both.seconds < now_s;
        values_.push_back(pays ? both.value : kNever);
    }
    for (Level level = 0; level <= last; ++level)
        best_.push_back(best_level(row, level, row.top));
    rows_.push_back(row);
}

// kWaits: no growth from there is a gain.
Level Ladders::best_level(const Row &row, Level from, Level most) const {
    if (one_doubling_) most = std::min(most, static_cast<Level>(from + 1));
    const double *values = values_.data() + row.first_value;
    Level best = kWaits;
    double best_more = 0, best_added = 1;
    double added = row.min << from;  // size(to) - size(from), for from + 1
    const double base = added;
    for (Level to = static_cast<Level>(from + 1); to <= most; ++to) {
        const double more = values[to] - values[from];
        if (more * best_added > best_more * added) {  // a larger gain, without a division
            best_more = more;
            best_added = added;
            best = to;
        }
        added = 2 * added + base;
    }
    return best;
}

Step Ladders::best_step(int rank, Level from, Level most) const {
    const Row &row = this->row(rank);
    if (from < 0 || from >= most) return {};
    Level to = best_[static_cast<std::size_t>(row.first_value + from)];
    if (to > most) to = best_level(row, from, most);
    if (to < 0) return {};
    return {.gain = (value(rank, to) - value(rank, from)) / (gpus(rank, to) - gpus(rank, from)),
            .to = to};
}

}  // namespace ringrt::policy
