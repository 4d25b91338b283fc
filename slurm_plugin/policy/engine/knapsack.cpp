// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/knapsack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "slurm_plugin/policy/value.h"

namespace ringrt::policy {
namespace {

constexpr uint8_t kNoGpus = 255;  // the choice "no GPUs"

struct Size {
    int gpus = 0;
    double worth = 0;
};

struct Choices {
    static constexpr std::size_t kMost = 32;  // powers of two in an int
    // Ascending in both: a larger size that is worth no more is never chosen.
    std::array<Size, kMost> sizes;
    std::size_t count = 0;
    bool may_wait = false;

    void add(int gpus, double worth) {
        if (count == 0 || worth > sizes[count - 1].worth) sizes[count++] = {gpus, worth};
    }
    [[nodiscard]] std::size_t most() const {
        return count == 0 ? 0 : static_cast<std::size_t>(sizes[count - 1].gpus);
    }
};

Choices choices_of(const Job &job, const Options &options) {
    const Valuation value(job, options);
    Choices out;
    out.may_wait = job.gpus_now == 0;
    if (job.keeps_its_size()) {
        out.add(job.gpus_now, job.gpus_now > 0 ? value.at(job.gpus_now) : 0);
        return out;
    }
    const int most = std::min(job.gpus_max, std::max(job.gpus_cap, job.gpus_min));
    for (const int gpus : Ladder{job.gpus_min, most}.sizes()) out.add(gpus, value.at(gpus));
    return out;
}

// The best of the first jobs on a number of GPUs: how many are served, then the sum of their
// values.
struct Counted {
    int served = -1;  // -1: impossible
    double sum = 0;
    static Counted none() { return {.served = 0}; }
    [[nodiscard]] Counted with(const Size &size) const {
        if (served < 0) return *this;
        return {.served = served + (size.gpus > 0), .sum = sum + size.worth};
    }
    [[nodiscard]] bool is_less(const Counted &o) const {
        return served != o.served ? served < o.served : sum < o.sum;
    }
};

// The same if there are enough GPUs for every job, so that none needs to stay pending.
struct Summed {
    double sum = -std::numeric_limits<double>::infinity();  // impossible
    static Summed none() { return {.sum = 0}; }
    [[nodiscard]] Summed with(const Size &size) const { return {.sum = sum + size.worth}; }
    [[nodiscard]] bool is_less(const Summed &o) const { return sum < o.sum; }
};

// By job and number of GPUs: the size of the job in the best solution.
template <class Cell>
std::vector<uint8_t> best_choices(std::span<const Choices> jobs, std::size_t width, bool wait) {
    std::vector<Cell> best(width, Cell::none()), next(width);
    std::vector<uint8_t> choice(jobs.size() * width);
    std::size_t so_far = 0, later = 0;  // the most GPUs for jobs up to here and later ones
    for (const Choices &job : jobs) later += job.most();
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const std::span<const Size> sizes(jobs[j].sizes.data(), jobs[j].count);
        later -= jobs[j].most();
        so_far += jobs[j].most();
        // Entries for fewer GPUs are never read.
        const std::size_t least = width - 1 - std::min(width - 1, later);
        const std::size_t last =
            std::max(least, std::min(width - 1, so_far));  // more GPUs add nothing
        for (std::size_t gpus = least, fit = 0; gpus <= last; ++gpus) {
            while (fit < sizes.size() && static_cast<std::size_t>(sizes[fit].gpus) <= gpus) ++fit;
            Cell most = wait && jobs[j].may_wait ? best[gpus] : Cell{};
            uint8_t chosen = kNoGpus;
            for (std::size_t k = 0; k < fit; ++k) {
                const Cell with =
                    best[gpus - static_cast<std::size_t>(sizes[k].gpus)].with(sizes[k]);
                const bool more = most.is_less(with);
                most = more ? with : most;
                chosen = more ? static_cast<uint8_t>(k) : chosen;
            }
            next[gpus] = most;
            choice[j * width + gpus] = chosen;
        }
        std::fill(next.begin() + static_cast<long>(last), next.end(), next[last]);
        std::fill_n(choice.begin() + static_cast<long>(j * width + last), width - last,
                    choice[j * width + last]);
        std::swap(best, next);
    }
    return choice;
}

bool is_enough_for_all(std::span<const Choices> jobs, long total) {
    for (const Choices &job : jobs) {
        if (job.count == 0) return false;
        total -= job.sizes[0].gpus;
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
        out[j] = {.job_id = jobs[j].id, .gpus = k == kNoGpus ? 0 : choices[j].sizes[k].gpus};
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
