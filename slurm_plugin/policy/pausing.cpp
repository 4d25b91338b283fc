// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/pausing.h"

#include <algorithm>
#include <compare>
#include <utility>

#include "slurm_plugin/policy/engine/fast_doubling.h"
#include "slurm_plugin/policy/engine/selection.h"

namespace ringrt::policy {
namespace {

// Who runs changes less often than the sizes: this many times as long a time counts between two
// restarts. Between 4 and 32 it matters little (doc/policies.md).
constexpr double kRunsLonger = 8;

Options for_selection(Options options) {
    options.size_lasts_s *= kRunsLonger;
    return options;
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
    [[nodiscard]] bool could_resume_more(const Candidate &decision) const;

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

// Whether a job stays paused although enough GPUs for its MIN would be idle.
bool Chooser::could_resume_more(const Candidate &decision) const {
    int idle = total_gpus(capacity_);
    for (const Allotment &allotment : decision.allotments) idle -= allotment.gpus;
    for (std::size_t i = 0; i < jobs_.size() && idle > 0; ++i)
        if (jobs_[i].paused && decision.allotments[i].gpus == 0 && jobs_[i].gpus_min <= idle)
            return true;
    return false;
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
    if (could_resume_more(best))
        take_if_no_worse(candidate(
            [&](std::size_t i) { return best.allotments[i].gpus > 0 || jobs_[i].paused; }));
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
