// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/engine/processor_time.h"
#include "slurm_plugin/policy/engine/knapsack.h"

namespace ringrt::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double start_seconds(const JobSpec &spec, const SimOptions &options) {
    return spec.start_s >= 0 ? spec.start_s : options.start_s;
}

}  // namespace

Pool::Pool(const std::vector<JobSpec> &jobs, const PolicySpec &policy, const SimOptions &options,
           int first_node, RunResult &result)
    : jobs_(jobs),
      policy_(policy),
      options_(options),
      first_node_(first_node),
      result_(result),
      estimator_(make_estimator(policy, options_)),
      placer_(options.nodes, options.gpus_per_node, policy.placement) {
    capacity_.node_gpus.assign(options.nodes, options.gpus_per_node);
    capacity_.gpus_per_node = options.gpus_per_node;
}

double Pool::finish_estimate(const JobState &job) const {
    return job.gpus == 0 ? kNever : job.seconds_left(*job.spec->profile, job.gpus, job.delay_s);
}

double Pool::first_finish() const {
    double first = kNever;
    for (const JobState &job : active_) first = std::min(first, finish_estimate(job));
    return first;
}

void Pool::advance(double now, double seconds, double share) {
    for (JobState &job : active_) {
        job.share_s += share * seconds;
        advance(job, now, seconds);
    }
}

void Pool::admit(std::size_t index) {
    JobState &job = active_.emplace_back();
    job.spec = &jobs_[index];
    job.index = index;
    job.weight = job.spec->weight;
}

void Pool::end(double now) {
    for (const JobState &job : active_) {
        note_span(job, job.seats, now);
        record(job);
    }
}

JobState Pool::give_up(std::size_t index, double now) {
    const auto at = std::find_if(active_.begin(), active_.end(),
                                 [&](const JobState &job) { return job.index == index; });
    JobState job = std::move(*at);
    active_.erase(at);
    note_span(job, job.seats, now);
    placer_.release(job.seats);
    estimator_->forget(job);
    job.gpus = 0;
    job.shape.clear();
    return job;
}

void Pool::take_in(JobState job) {
    job.spec = &jobs_[job.index];
    const auto at = std::find_if(active_.begin(), active_.end(),
                                 [&](const JobState &other) { return other.index > job.index; });
    active_.insert(at, std::move(job));
}

void Pool::weigh(std::size_t index, double weight) {
    for (JobState &job : active_)
        if (job.index == index) job.weight = weight;
}

// A job whose batch adapts chooses it again for each epoch, and at each decision: what it measured
// meanwhile may favour another one (Pollux's simulator does the same).
void Pool::set_batch(JobState &job) {
    const Profile &profile = *job.spec->profile;
    if (policy_.adapts_batch) {
        job.plan = job.spec->adaptive_batch > 0
                       ? split_batch(profile.batch, job.spec->adaptive_batch, job.gpus)
                       : estimator_->choose_batch(job, job.shape);
        job.step_s = plan_step_s(profile, job.shape, job.plan);
    }
    job.samples = job.plan.total(job.gpus);
    job.Training::enter_epoch(profile, job.gpus);
}

void Pool::advance(JobState &job, double begin, double seconds) {
    if (job.gpus == 0) return;
    const Profile &profile = *job.spec->profile;
    double left = seconds;
    const double delay = std::min(job.delay_s, left);
    job.delay_s -= delay;
    left -= delay;
    if (job.starts > 1) {
        job.lost_gpu_s += delay * job.gpus;
        if (delay > 0 && job.delay_s == 0)
            estimator_->restarted(job, restart_seconds(*job.spec, options_));
    }
    left = job.run(
        profile, left, [&](double steps) { estimator_->ran(job, steps); }, [&] { set_batch(job); });
    if (job.is_done(profile)) job.finished_s = begin + seconds - left;
    job.attained_gpu_s +=
        ((job.finished_s < 0 ? begin + seconds : job.finished_s) - begin) * job.gpus;
}

void Pool::note_span(const JobState &job, const Seats &seats, double until) {
    if (!options_.timeline) return;
    for (const auto &[node, gpus] : seats)
        result_.spans.push_back({.job = job.index,
                                 .node = first_node_ + node,
                                 .gpus = gpus,
                                 .from_s = job.changed_s,
                                 .to_s = until});
}

void Pool::record(const JobState &job) {
    JobResult &out = result_.jobs[job.index];
    out.start_s = job.started_s;
    out.finish_s = job.finished_s;
    out.restarts = std::max(0, job.starts - 1);
    out.gpu_s = job.attained_gpu_s;
    out.lost_gpu_s = job.lost_gpu_s;
    if (job.finished_s >= 0) out.fairness = finish_time_fairness(job, options_);
}

void Pool::retire(std::atomic<uint64_t> *done) {
    std::size_t kept = 0;
    for (JobState &job : active_) {
        if (job.finished_s < 0) {
            if (&active_[kept] != &job) active_[kept] = std::move(job);
            ++kept;
            continue;
        }
        note_span(job, job.seats, job.finished_s);
        placer_.release(job.seats);
        estimator_->forget(job);
        record(job);
        result_.makespan_s = std::max(result_.makespan_s, job.finished_s);
        if (done) done->fetch_add(1, std::memory_order_relaxed);
    }
    active_.resize(kept);
}

void Pool::describe(const JobState &job, double now, policy::Job &out, policy::SimFacts &facts) {
    const JobSpec &spec = jobs_[job.index];
    if (job.spec != &spec) {  // on another type: here it would hold no GPUs
        JobState moved = job;
        moved.spec = &spec;
        moved.gpus = 0;
        moved.weight = spec.weight;
        moved.seats.clear();
        return describe(moved, now, out, facts);
    }
    out.id = static_cast<uint32_t>(job.index + 1);
    out.gpus_min = spec.gpus_min;
    out.gpus_max = policy_.on_ladder ? spec.gpus_max : spec.gpus_limit;
    out.gpus_now = job.gpus;
    out.pinned = options_.whole_restarts && job.gpus > 0 && job.delay_s > 0;
    out.may_pause = options_.pause && spec.gpus_min < spec.gpus_max;
    out.paused = options_.pause && job.gpus == 0 && job.starts > 0;
    out.held.assign(job.seats.begin(), job.seats.end());
    facts.gpus_asked =
        policy_.fixed_gpus > 0 ? std::min(policy_.fixed_gpus, spec.gpus_max) : spec.gpus_asked;
    out.submit_s = spec.submit_s;
    facts.attained_gpu_s = job.attained_gpu_s;
    out.restart_s = restart_seconds(spec, options_);
    out.weight = job.weight;
    out.priority = spec.priority;
    estimator_->describe(job, out);
    facts.time_left_s = policy::kUnknown;
    if (spec.limit_s > 0)
        facts.time_left_s = spec.limit_s - (job.gpus > 0 ? now - job.started_s : 0);
}

void Pool::start(JobState &job, double now) {
    job.changed_s = now;
    if (job.gpus == 0) return;
    job.shape.clear();
    for (const auto &[node, gpus] : job.seats) job.shape.push_back(static_cast<uint8_t>(gpus));
    job.delay_s =
        job.starts == 0 ? start_seconds(*job.spec, options_) : restart_seconds(*job.spec, options_);
    ++job.starts;
    if (job.started_s < 0) job.started_s = now;
    if (!policy_.adapts_batch) {
        job.plan = split_batch(job.spec->profile->batch, job.spec->batch, job.gpus);
        job.step_s = plan_step_s(*job.spec->profile, job.shape, job.plan);
    }
    set_batch(job);
}

void Pool::seat(const std::vector<int> &want, double now) {
    seats_.resize(active_.size());
    for (std::size_t i = 0; i < active_.size(); ++i) seats_[i] = active_[i].seats;
    placer_.place(want, seats_);
    for (std::size_t i = 0; i < active_.size(); ++i) {
        JobState &job = active_[i];
        if (job.seats == seats_[i]) continue;
        note_span(job, job.seats, now);
        job.seats.swap(seats_[i]);
        job.gpus = want[i];
        start(job, now);
    }
}

void Pool::grade(const std::vector<policy::Allotment> &decision) {
    const double gap = policy::gap_to_optimum(described_, decision, capacity_, policy_.options);
    ++result_.graded;
    result_.gap_sum += gap;
    result_.gap_max = std::max(result_.gap_max, gap);
}

void Pool::decide(double now) {
    if (active_.empty()) return;
    described_.resize(active_.size());
    facts_.resize(active_.size());
    for (std::size_t i = 0; i < active_.size(); ++i)
        describe(active_[i], now, described_[i], facts_[i]);
    const double start_ms = processor_ms();
    const std::vector<policy::Allotment> allotments = policy_.run({described_, facts_}, capacity_);
    result_.decide_ms_max = std::max(result_.decide_ms_max, processor_ms() - start_ms);
    if (options_.grade_every > 0 && result_.decisions % options_.grade_every == 0)
        grade(allotments);
    ++result_.decisions;
    std::vector<int> want;
    for (const policy::Allotment &allotment : allotments) want.push_back(allotment.gpus);
    seat(want, now);
    if (!policy_.adapts_batch) return;
    for (JobState &job : active_)
        if (job.gpus > 0) set_batch(job);
}

}  // namespace ringrt::sim
