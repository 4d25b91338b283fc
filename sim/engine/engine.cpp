// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/engine/processor_time.h"
#include "slurm_plugin/policy/engine/knapsack.h"

namespace ringrt::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

double restart_seconds(const JobSpec &spec, const SimOptions &options) {
    return spec.restart_s >= 0 ? spec.restart_s : options.restart_s;
}

namespace {

class Engine {
  public:
    Engine(const Workload &workload, const PolicySpec &policy, const SimOptions &options)
        : workload_(workload),
          policy_(policy),
          options_(options),
          estimator_(make_estimator(policy, options)),
          placer_(options.nodes, options.gpus_per_node, policy.placement) {
        result_.workload = workload.name;
        result_.policy = policy.name;
        result_.jobs.resize(workload.jobs.size());
        capacity_.node_gpus.assign(options.nodes, options.gpus_per_node);
        capacity_.gpus_per_node = options.gpus_per_node;
    }

    RunResult run(const std::atomic<bool> *stop, std::atomic<uint64_t> *done);

  private:
    [[nodiscard]] double total_gpus() const { return options_.nodes * options_.gpus_per_node; }
    [[nodiscard]] double next_decision() const;
    [[nodiscard]] double finish_estimate(const JobState &job) const;
    void advance(JobState &job, double seconds);
    void enter_epoch(JobState &job);
    void admit();
    void retire(std::atomic<uint64_t> *done);
    void decide();
    void grade(const std::vector<policy::Allotment> &decision);
    void seat(const std::vector<int> &want);
    void start(JobState &job);
    void note_span(const JobState &job, const Seats &seats, double until);
    void describe(const JobState &job, policy::Job &out, policy::SimFacts &facts);
    void record(const JobState &job);

    const Workload &workload_;
    const PolicySpec &policy_;
    const SimOptions &options_;
    std::unique_ptr<Estimator> estimator_;
    Placer placer_;
    policy::Capacity capacity_;
    std::vector<JobState> active_;  // by arrival
    // As the policy saw them. These and the seats are kept for their memory: a decision allocates
    // little.
    std::vector<policy::Job> described_;
    std::vector<policy::SimFacts> facts_;
    std::vector<Seats> seats_;
    std::size_t arrived_ = 0;
    double now_ = 0;
    RunResult result_;
};

// Seconds until `job` is done if nothing changes.
double Engine::finish_estimate(const JobState &job) const {
    return job.gpus == 0 ? kNever : job.seconds_left(*job.spec->profile, job.gpus, job.delay_s);
}

double Engine::next_decision() const {
    const double arrival =
        arrived_ < workload_.jobs.size() ? workload_.jobs[arrived_].submit_s : kNever;
    if (options_.interval_s > 0) {
        const double step = options_.interval_s;
        const double next = (std::floor(now_ / step) + 1) * step;
        return active_.empty() ? std::max(next, std::ceil(arrival / step) * step) : next;
    }
    double next = arrival;
    for (const JobState &job : active_) next = std::min(next, now_ + finish_estimate(job));
    return next;
}

// A job whose batch adapts chooses anew for each epoch.
void Engine::enter_epoch(JobState &job) {
    const Profile &profile = *job.spec->profile;
    if (policy_.adapts_batch) {
        job.plan = estimator_->choose_batch(job, job.shape);
        job.step_s = plan_step_s(profile, job.shape, job.plan);
    }
    job.Training::enter_epoch(profile, job.gpus);
}

void Engine::advance(JobState &job, double seconds) {
    if (job.gpus == 0) return;
    const Profile &profile = *job.spec->profile;
    const double begin = now_;
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
        profile, left, [&](double steps) { estimator_->ran(job, steps); },
        [&] { enter_epoch(job); });
    if (job.is_done(profile)) job.finished_s = begin + seconds - left;
    job.attained_gpu_s +=
        ((job.finished_s < 0 ? begin + seconds : job.finished_s) - begin) * job.gpus;
}

void Engine::admit() {
    for (; arrived_ < workload_.jobs.size() && workload_.jobs[arrived_].submit_s <= now_;
         ++arrived_) {
        JobState &job = active_.emplace_back();
        job.spec = &workload_.jobs[arrived_];
        job.index = arrived_;
    }
}

void Engine::note_span(const JobState &job, const Seats &seats, double until) {
    if (!options_.timeline) return;
    for (const auto &[node, gpus] : seats)
        result_.spans.push_back(
            {.job = job.index, .node = node, .gpus = gpus, .from_s = job.changed_s, .to_s = until});
}

void Engine::record(const JobState &job) {
    JobResult &out = result_.jobs[job.index];
    out.start_s = job.started_s;
    out.finish_s = job.finished_s;
    out.restarts = std::max(0, job.starts - 1);
    out.gpu_s = job.attained_gpu_s;
    out.lost_gpu_s = job.lost_gpu_s;
    if (job.finished_s >= 0) out.fairness = finish_time_fairness(job, options_);
}

void Engine::retire(std::atomic<uint64_t> *done) {
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

void Engine::describe(const JobState &job, policy::Job &out, policy::SimFacts &facts) {
    const JobSpec &spec = *job.spec;
    out.id = static_cast<uint32_t>(job.index + 1);
    out.gpus_min = spec.gpus_min;
    out.gpus_max = policy_.on_ladder ? spec.gpus_max : spec.gpus_limit;
    out.gpus_now = job.gpus;
    out.held.assign(job.seats.begin(), job.seats.end());
    facts.gpus_asked =
        policy_.fixed_gpus > 0 ? std::min(policy_.fixed_gpus, spec.gpus_max) : spec.gpus_asked;
    out.submit_s = spec.submit_s;
    facts.attained_gpu_s = job.attained_gpu_s;
    out.restart_s = restart_seconds(spec, options_);
    out.weight = spec.weight;
    out.priority = spec.priority;
    estimator_->describe(job, out);
    facts.time_left_s = policy::kUnknown;
    if (spec.limit_s > 0)
        facts.time_left_s = spec.limit_s - (job.gpus > 0 ? now_ - job.started_s : 0);
}

void Engine::start(JobState &job) {
    job.changed_s = now_;
    if (job.gpus == 0) return;
    job.shape.clear();
    for (const auto &[node, gpus] : job.seats) job.shape.push_back(static_cast<uint8_t>(gpus));
    job.delay_s = job.starts == 0 ? options_.start_s : restart_seconds(*job.spec, options_);
    ++job.starts;
    if (job.started_s < 0) job.started_s = now_;
    if (!policy_.adapts_batch) {
        job.plan = split_batch(job.spec->profile->batch, job.spec->batch, job.gpus);
        job.step_s = plan_step_s(*job.spec->profile, job.shape, job.plan);
    }
    enter_epoch(job);
}

void Engine::seat(const std::vector<int> &want) {
    seats_.resize(active_.size());
    for (std::size_t i = 0; i < active_.size(); ++i) seats_[i] = active_[i].seats;
    placer_.place(want, seats_);
    for (std::size_t i = 0; i < active_.size(); ++i) {
        JobState &job = active_[i];
        if (job.seats == seats_[i]) continue;
        note_span(job, job.seats, now_);
        job.seats.swap(seats_[i]);
        job.gpus = want[i];
        start(job);
    }
}

void Engine::grade(const std::vector<policy::Allotment> &decision) {
    const double gap = policy::gap_to_optimum(described_, decision, capacity_, policy_.options);
    ++result_.graded;
    result_.gap_sum += gap;
    result_.gap_max = std::max(result_.gap_max, gap);
}

void Engine::decide() {
    if (active_.empty()) return;
    described_.resize(active_.size());
    facts_.resize(active_.size());
    for (std::size_t i = 0; i < active_.size(); ++i) describe(active_[i], described_[i], facts_[i]);
    const double start_ms = processor_ms();
    const std::vector<policy::Allotment> allotments = policy_.run({described_, facts_}, capacity_);
    result_.decide_ms_max = std::max(result_.decide_ms_max, processor_ms() - start_ms);
    if (options_.grade_every > 0 && result_.decisions % options_.grade_every == 0)
        grade(allotments);
    ++result_.decisions;
    std::vector<int> want;
    for (const policy::Allotment &allotment : allotments) want.push_back(allotment.gpus);
    seat(want);
}

RunResult Engine::run(const std::atomic<bool> *stop, std::atomic<uint64_t> *done) {
    const auto start = std::chrono::steady_clock::now();
    while (arrived_ < workload_.jobs.size() || !active_.empty()) {
        if (stop && stop->load(std::memory_order_relaxed)) {
            result_.stopped = true;
            break;
        }
        const double next = next_decision();
        if (next == kNever) throw std::logic_error(policy_.name + ": jobs wait for ever");
        const double share = total_gpus() / std::max<double>(1, double(active_.size()));
        for (JobState &job : active_) {
            job.share_s += share * (next - now_);
            advance(job, next - now_);
        }
        now_ = next;
        retire(done);
        admit();
        decide();
    }
    for (const JobState &job : active_) {
        note_span(job, job.seats, now_);
        record(job);
    }
    result_.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
}

}  // namespace

RunResult simulate(const Workload &workload, const PolicySpec &policy, const SimOptions &options,
                   const std::atomic<bool> *stop, std::atomic<uint64_t> *done) {
    return Engine(workload, policy, options).run(stop, done);
}

}  // namespace ringrt::sim
