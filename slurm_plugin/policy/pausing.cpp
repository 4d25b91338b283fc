// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/pausing.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <numeric>
#include <tuple>

#include "slurm_plugin/policy/engine/fast_doubling.h"
#include "slurm_plugin/policy/engine/greedy.h"
#include "slurm_plugin/policy/value.h"

namespace ringrt::policy {
namespace {

// Who runs changes less often than the sizes: this many times as long a time counts between two
// restarts. Between 4 and 32 it matters little (doc/policies.md).
constexpr double kRunsLonger = 8;

Options for_selection(Options options) {
    options.size_lasts_s *= kRunsLonger;
    return options;
}

// A pending job that a decision should start.
bool is_new(const Job &job) { return job.gpus_now == 0 && !job.paused && !job.pinned; }

bool can_have_none(const Job &job) {
    if (job.keeps_its_size()) return false;
    return job.gpus_now > 0 ? job.may_pause : job.paused;
}

struct Growth {
    double gain = 0;  // value per GPU added
    int to = 0;       // 0: no growth gains
};

// The values of all sizes to which jobs may grow, computed once.
class Values {
  public:
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

Growth Values::best_growth(std::size_t job, int from, int free) const {
    const Row &row = rows_[job];
    const double here = from > 0 ? at(job, from) : 0;
    Growth best;
    for (int level = from > 0 ? row.ladder.level(from) + 1 : 0;; ++level) {
        const int64_t to = int64_t{row.ladder.min} << level;
        if (to > row.most || to - from > free) break;
        const double gain = (value(row, level) - here) / static_cast<double>(to - from);
        if (gain > best.gain) best = {.gain = gain, .to = static_cast<int>(to)};
    }
    return best;
}

// GPUs on each of its nodes if the job had only `gpus`: the policy shrinks jobs onto their first
// nodes.
template <class Visit>
void for_each_share(const Job &job, int gpus, std::size_t nodes, Visit visit) {
    for (const auto &[node, held] : job.held) {
        const int here = std::min(held, gpus);
        gpus -= here;
        if (here > 0 && node >= 0 && static_cast<std::size_t>(node) < nodes)
            visit(static_cast<std::size_t>(node), here);
    }
}

int least_gpus(const Job &job) { return job.keeps_its_size() ? job.gpus_now : job.gpus_min; }

// Steps 1 to 3 of the header comment.
class Selection {
  public:
    Selection(std::span<const Job> jobs, const Capacity &capacity, const Options &options);
    [[nodiscard]] bool runs(std::size_t job) const { return sizes_[job] > 0; }
    [[nodiscard]] bool must_pause(std::size_t job) const { return must_pause_[job]; }
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
    [[nodiscard]] Growth growth(std::size_t job) const {
        return values_.best_growth(job, sizes_[job], free_);
    }

    std::span<const Job> jobs_;
    Values values_;
    std::vector<bool> must_pause_;
    std::vector<int> sizes_;
    int free_;
};

Selection::Selection(std::span<const Job> jobs, const Capacity &capacity, const Options &options)
    : jobs_(jobs),
      values_(jobs, options),
      must_pause_(jobs.size()),
      sizes_(jobs.size()),
      free_(total_gpus(capacity)) {
    free_overcommitted_nodes(capacity);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (jobs[i].gpus_now > 0 && !can_have_none(jobs[i])) sizes_[i] = least_gpus(jobs[i]);
        free_ -= sizes_[i];
    }
    start_in_order();
    grow();
}

void Selection::free_overcommitted_nodes(const Capacity &capacity) {
    std::vector<int> left = capacity.node_gpus;
    std::vector<std::size_t> by_gain;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        for_each_share(jobs_[i], least_gpus(jobs_[i]), left.size(),
                       [&](std::size_t node, int gpus) { left[node] -= gpus; });
        if (jobs_[i].gpus_now > 0 && can_have_none(jobs_[i])) by_gain.push_back(i);
    }
    const auto is_over = [&](std::size_t node) {
        return capacity.node_gpus[node] >= 0 && left[node] < 0;
    };
    std::ranges::sort(by_gain, {},
                      [&](std::size_t i) { return std::tuple(first_gain(i), jobs_[i].id); });
    for (const std::size_t i : by_gain) {
        const Job &job = jobs_[i];
        bool helps = false;
        for_each_share(job, job.gpus_min, left.size(),
                       [&](std::size_t node, int) { helps |= is_over(node); });
        if (!helps) continue;
        must_pause_[i] = true;
        for_each_share(job, job.gpus_min, left.size(),
                       [&](std::size_t node, int gpus) { left[node] += gpus; });
    }
}

void Selection::start_in_order() {
    std::vector<std::size_t> pending;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
        if (is_new(jobs_[i])) pending.push_back(i);
    std::ranges::sort(pending, {}, [&](std::size_t i) {
        return std::tuple(-jobs_[i].priority, jobs_[i].submit_s, jobs_[i].id);
    });
    for (const std::size_t i : pending) {
        if (jobs_[i].gpus_min > free_) break;
        sizes_[i] = jobs_[i].gpus_min;
        free_ -= sizes_[i];
    }
}

// Grants all growths above the gain at which the GPUs run out. It is the same as granting them one
// by one, in O(n).
void Selection::grow_at_once(const std::vector<std::size_t> &growing) {
    std::vector<Edge> edges;
    for (const std::size_t i : growing) {
        double least = std::numeric_limits<double>::infinity();
        for (int size = sizes_[i];;) {
            const Growth next = values_.best_growth(i, size, free_);
            if (next.to == 0) break;
            least = std::min(least, next.gain);
            edges.push_back({.gain = least, .gpus = next.to - size});
            size = next.to;
        }
    }
    const int free = free_;
    const double above = threshold(edges, free);
    for (const std::size_t i : growing)
        for (Growth next; (next = values_.best_growth(i, sizes_[i], free)).gain > above;) {
            free_ -= next.to - sizes_[i];
            sizes_[i] = next.to;
        }
}

void Selection::grow() {
    std::vector<std::size_t> growing;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const bool grows = sizes_[i] > 0 ? !jobs_[i].keeps_its_size() : can_have_none(jobs_[i]);
        if (grows && !must_pause_[i]) growing.push_back(i);
    }
    if (free_ > 0) grow_at_once(growing);
    std::vector<Bid> heap;
    for (const std::size_t i : growing)
        if (const Growth next = growth(i); next.to > 0)
            heap.push_back({next.gain, jobs_[i].id, i, next.to});
    std::make_heap(heap.begin(), heap.end());
    while (!heap.empty() && free_ > 0) {
        std::pop_heap(heap.begin(), heap.end());
        const Bid best = heap.back();
        heap.pop_back();
        int &size = sizes_[best.job];
        if (best.to - size <= free_) {
            free_ -= best.to - size;
            size = best.to;
        }
        if (const Growth next = growth(best.job); next.to > 0) {
            heap.push_back({next.gain, best.id, best.job, next.to});
            std::push_heap(heap.begin(), heap.end());
        }
    }
}

struct Worth {
    int started = 0;  // new jobs
    double value = 0;
    auto operator<=>(const Worth &) const = default;
};

// The decision in which exactly the jobs of `runs` may have GPUs.
struct Candidate {
    std::vector<Allotment> allotments;
    Worth worth;
};

class Chooser {
  public:
    Chooser(Decide decide, std::span<const Job> jobs, const Capacity &capacity,
            const Options &options)
        : decide_(decide),
          jobs_(jobs),
          capacity_(capacity),
          options_(options),
          selection_(jobs, capacity, for_selection(options)) {}
    std::vector<Allotment> choose() const;

  private:
    template <class Runs>
    [[nodiscard]] Candidate candidate(Runs runs) const;

    Decide decide_;
    std::span<const Job> jobs_;
    const Capacity &capacity_;
    const Options &options_;
    Selection selection_;
};

template <class Runs>
Candidate Chooser::candidate(Runs runs) const {
    std::vector<std::size_t> where;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
        if (!can_have_none(jobs_[i]) || (!selection_.must_pause(i) && runs(i))) where.push_back(i);
    std::vector<Allotment> decided;
    if (where.size() == jobs_.size()) {
        decided = decide_(jobs_, capacity_, options_);
    } else {
        std::vector<Job> running;
        running.reserve(where.size());
        for (const std::size_t i : where) running.push_back(jobs_[i]);
        decided = decide_(running, capacity_, options_);
    }
    Candidate out;
    for (const Job &job : jobs_)
        out.allotments.push_back({.job_id = job.id, .reason = Reason::paused});
    for (std::size_t k = 0; k < decided.size(); ++k) {
        const std::size_t i = where[k];
        out.allotments[i] = decided[k];
        out.worth.started += is_new(jobs_[i]) && decided[k].gpus > 0;
        out.worth.value += selection_.value(i, decided[k].gpus);
    }
    return out;
}

std::vector<Allotment> Chooser::choose() const {
    const auto runs_now = [&](std::size_t i) { return jobs_[i].gpus_now > 0; };
    const auto selected = [&](std::size_t i) { return selection_.runs(i); };
    Candidate best = candidate(selected);
    bool pauses = false, resumes = false;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        pauses |= runs_now(i) && can_have_none(jobs_[i]) && !selected(i);
        resumes |= jobs_[i].paused && selected(i);
    }
    const auto take_if_no_worse = [&](Candidate other) {
        if (other.worth >= best.worth) best = std::move(other);
    };
    if (pauses)
        take_if_no_worse(candidate([&](std::size_t i) { return runs_now(i) || selected(i); }));
    const auto starts = std::ranges::count_if(jobs_, is_new);
    if (resumes && best.worth.started < starts) {
        Candidate other = candidate(runs_now);
        if (other.worth.started > best.worth.started) best = std::move(other);
    }
    return std::move(best.allotments);
}

}  // namespace

std::vector<Allotment> decide_with_pauses(Decide decide, std::span<const Job> jobs,
                                          const Capacity &capacity, const Options &options) {
    const bool zero_has_value =
        options.gain == GainRule::relative || options.gain == GainRule::short_first;
    if (!zero_has_value || std::ranges::none_of(jobs, can_have_none))
        return decide(jobs, capacity, options);
    return Chooser(decide, jobs, capacity, options).choose();
}

std::vector<Allotment> decide_doubling_and_pause(std::span<const Job> jobs,
                                                 const Capacity &capacity, const Options &options) {
    return decide_with_pauses(decide_doubling_fast, jobs, capacity, options);
}

}  // namespace ringrt::policy
