// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/optimum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "slurm_plugin/policy/baselines.h"
#include "slurm_plugin/policy/gain.h"
#include "slurm_plugin/policy/placement.h"

namespace ringrt::policy {
namespace {

constexpr uint8_t kNone = 255;  // the choice "no GPUs"

bool stays(const Job &job) {
    return job.pinned || (job.gpus_now > 0 && !on_ladder(job, job.gpus_now));
}

// The sizes a job may have, ascending.
std::vector<int> sizes_of(const Job &job) {
    if (stays(job)) return {job.gpus_now};
    std::vector<int> sizes;
    for (int gpus = job.gpus_min;
         gpus <= std::min(job.gpus_max, std::max(job.gpus_believed, job.gpus_min)); gpus *= 2) {
        sizes.push_back(gpus);
        if (gpus > job.gpus_max / 2) break;
    }
    return sizes;
}

struct Size {
    int gpus = 0;
    double worth = 0;
};

struct Choices {
    std::vector<Size> sizes;  // ascending in both: a larger one that is worth no more is never chosen
    bool may_wait = false;
};

Choices choices_of(const Job &job, const Options &options) {
    const Valuation value(job, options);
    Choices out{.sizes = {}, .may_wait = job.gpus_now == 0};
    for (const int gpus : sizes_of(job)) {
        const double worth = gpus > 0 ? value.at(gpus) : 0;
        if (out.sizes.empty() || worth > out.sizes.back().worth) out.sizes.push_back({gpus, worth});
    }
    return out;
}

// The best of the first jobs on so many GPUs: how many are served, then the sum of their values.
struct Counted {
    int served = -1;  // -1: impossible
    double sum = 0;
    static Counted nobody() { return {.served = 0}; }
    [[nodiscard]] Counted with(const Size &size) const {
        if (served < 0) return *this;
        return {.served = served + (size.gpus > 0), .sum = sum + size.worth};
    }
    [[nodiscard]] bool is_less(const Counted &o) const {
        return served != o.served ? served < o.served : sum < o.sum;
    }
};

// The same where there is enough for everybody, so that nobody need wait.
struct Summed {
    double sum = -std::numeric_limits<double>::infinity();  // impossible
    static Summed nobody() { return {.sum = 0}; }
    [[nodiscard]] Summed with(const Size &size) const { return {.sum = sum + size.worth}; }
    [[nodiscard]] bool is_less(const Summed &o) const { return sum < o.sum; }
};

// By job and number of GPUs: which of its sizes the job takes in the best way.
template <class Cell>
std::vector<uint8_t> best_choices(std::span<const Choices> jobs, std::size_t width, bool wait) {
    std::vector<Cell> best(width, Cell::nobody()), next(width);
    std::vector<uint8_t> choice(jobs.size() * width);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const std::span<const Size> sizes = jobs[j].sizes;
        for (std::size_t gpus = 0, fit = 0; gpus < width; ++gpus) {
            while (fit < sizes.size() && static_cast<std::size_t>(sizes[fit].gpus) <= gpus) ++fit;
            Cell most = wait && jobs[j].may_wait ? best[gpus] : Cell{};
            uint8_t chosen = kNone;
            for (std::size_t k = 0; k < fit; ++k) {
                const Cell with = best[gpus - static_cast<std::size_t>(sizes[k].gpus)].with(sizes[k]);
                const bool more = most.is_less(with);
                most = more ? with : most;
                chosen = more ? static_cast<uint8_t>(k) : chosen;
            }
            next[gpus] = most;
            choice[j * width + gpus] = chosen;
        }
        std::swap(best, next);
    }
    return choice;
}

bool is_enough_for_all(std::span<const Choices> jobs, long total) {
    for (const Choices &job : jobs) {
        if (job.sizes.empty()) return false;
        total -= job.sizes.front().gpus;
    }
    return total >= 0;
}

}  // namespace

std::vector<Allotment> decide_optimum(std::span<const Job> jobs, const Capacity &capacity,
                                      const Options &options) {
    const int total = total_gpus(capacity);
    const auto width = static_cast<std::size_t>(total) + 1;
    std::vector<Choices> choices(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) choices[j] = choices_of(jobs[j], options);
    const std::vector<uint8_t> choice = is_enough_for_all(choices, total)
                                            ? best_choices<Summed>(choices, width, false)
                                            : best_choices<Counted>(choices, width, true);
    std::vector<Allotment> out(jobs.size());
    int left = total;
    for (std::size_t j = jobs.size(); j-- > 0;) {
        const uint8_t k = choice[j * width + static_cast<std::size_t>(left)];
        out[j] = {.job_id = jobs[j].id, .gpus = k == kNone ? 0 : choices[j].sizes[k].gpus};
        if (out[j].gpus == 0) out[j].reason = Reason::waits;
        left -= out[j].gpus;
    }
    return out;
}

Worth worth_of(std::span<const Job> jobs, std::span<const Allotment> decision,
               const Options &options) {
    Worth worth;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (decision[i].gpus == 0) continue;
        ++worth.served;
        worth.sum += value(jobs[i], decision[i].gpus, options);
    }
    return worth;
}

double gap_to_optimum(std::span<const Job> jobs, std::span<const Allotment> decision,
                      const Capacity &capacity, const Options &options) {
    const Worth got = worth_of(jobs, decision, options);
    const Worth best = worth_of(jobs, decide_optimum(jobs, capacity, options), options);
    if (got.served < best.served) return 1;
    return best.sum == 0 ? 0 : std::max(0.0, (best.sum - got.sum) / std::abs(best.sum));
}

}  // namespace ringrt::policy
