// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/pausing.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <tuple>

#include "slurm_plugin/policy/value.h"

namespace ringrt::policy {
namespace {

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

// The best growth of a job from `from` GPUs, with at most `free` more.
Growth best_growth(const Job &job, const Valuation &value, int from, int free) {
    const int cap = std::min(job.gpus_max, std::max(job.gpus_cap, job.gpus_min));
    const int most = std::min(cap, from + std::min(free, kAnySize - from));
    const double here = from > 0 ? value.at(from) : 0;
    Growth best;
    for (int to = from > 0 ? from : job.gpus_min; to <= most; to *= 2) {
        const double gain = to > from ? (value.at(to) - here) / (to - from) : 0;
        if (gain > best.gain) best = {.gain = gain, .to = to};
        if (to > most / 2) break;
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
    [[nodiscard]] double value(std::size_t job, int gpus) const {
        return gpus > 0 ? values_[job].at(gpus) : 0;
    }

  private:
    struct Bid {
        double gain = 0;
        uint32_t id = 0;
        std::size_t job = 0;
        int to = 0;
        bool operator<(const Bid &o) const { return gain != o.gain ? gain < o.gain : id > o.id; }
    };

    [[nodiscard]] double first_gain(std::size_t job) const {
        return values_[job].at(jobs_[job].gpus_min) / jobs_[job].gpus_min;
    }
    void free_overcommitted_nodes(const Capacity &capacity);
    void start_in_order();
    void grow();
    void bid(std::size_t job);

    std::span<const Job> jobs_;
    std::vector<Valuation> values_;
    std::vector<bool> must_pause_;
    std::vector<int> sizes_;
    int free_;
    std::vector<Bid> heap_;
};

Selection::Selection(std::span<const Job> jobs, const Capacity &capacity, const Options &options)
    : jobs_(jobs), must_pause_(jobs.size()), sizes_(jobs.size()), free_(total_gpus(capacity)) {
    values_.reserve(jobs.size());
    for (const Job &job : jobs) values_.emplace_back(job, options);
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

void Selection::bid(std::size_t job) {
    const Growth growth = best_growth(jobs_[job], values_[job], sizes_[job], free_);
    if (growth.to == 0) return;
    heap_.push_back({growth.gain, jobs_[job].id, job, growth.to});
    std::push_heap(heap_.begin(), heap_.end());
}

void Selection::grow() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const bool grows = sizes_[i] > 0 ? !jobs_[i].keeps_its_size() : can_have_none(jobs_[i]);
        if (grows && !must_pause_[i]) bid(i);
    }
    while (!heap_.empty() && free_ > 0) {
        std::pop_heap(heap_.begin(), heap_.end());
        const Bid best = heap_.back();
        heap_.pop_back();
        int &size = sizes_[best.job];
        if (best.to - size <= free_) {
            free_ -= best.to - size;
            size = best.to;
        }
        bid(best.job);
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
          selection_(jobs, capacity, options) {}
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
    std::vector<Job> running;
    std::vector<std::size_t> where;
    Candidate out;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        out.allotments.push_back({.job_id = jobs_[i].id, .reason = Reason::paused});
        if (can_have_none(jobs_[i]) && (selection_.must_pause(i) || !runs(i))) continue;
        running.push_back(jobs_[i]);
        where.push_back(i);
    }
    const std::vector<Allotment> decided = decide_(running, capacity_, options_);
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
    const bool values_none =
        options.gain == GainRule::relative || options.gain == GainRule::short_first;
    if (!values_none || std::ranges::none_of(jobs, can_have_none))
        return decide(jobs, capacity, options);
    return Chooser(decide, jobs, capacity, options).choose();
}

}  // namespace ringrt::policy
