// SPDX-License-Identifier: BSD-3-Clause
// Estimators that read the truth, exact or with a deliberate error.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/engine/engine.h"
#include "sim/workload/batch_choice.h"

namespace ringrt::sim {
namespace {

double unit_noise(uint64_t seed, uint64_t a, uint64_t b) {  // splitmix64, in -1..1
    uint64_t x = seed * 0x9E3779B97F4A7C15u + a * 0xBF58476D1CE4E5B9u + b * 0x94D049BB133111EBu;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return double(x >> 11) / double(uint64_t{1} << 52) - 1;
}

// Where a policy would seat a job.
Shape shape_of(const PolicySpec &policy, int gpus, int gpus_per_node) {
    return policy.placement == Placement::pack_evenly ? packed_evenly(gpus, gpus_per_node)
                                                      : packed(gpus, gpus_per_node);
}

// For a fixed batch. All jobs of one profile and batch share the curves.
class Oracle final : public Estimator {
  public:
    Oracle(const PolicySpec &policy, const SimOptions &options)
        : policy_(policy),
          options_(options),
          wrong_by_(is_in_error(options.knowledge) ? options.wrong_by : 0.0),
          corrects_(options.knowledge == Knowledge::prior) {}

    void ran(const JobState &job, double steps) override {
        if (!corrects_) return;
        Own &own = own_[job.index];
        if (own.start != job.starts) own = {std::move(own.curve_ms), job.starts, 0};
        own.steps += steps;  // a step may take longer than the time between two decisions
        const auto size = static_cast<std::size_t>(job.gpus);
        if (own.steps >= 1 && size <= own.curve_ms.size())
            own.curve_ms[size - 1] = static_cast<float>(1000 * job.step_s);
    }
    void restarted(const JobState &, double) override {}
    void forget(const JobState &job) override {
        own_.erase(job.index);
        if (job.index < of_job_.size()) of_job_[job.index] = nullptr;
        if (job.spec->profile.use_count() == 1) truths_.erase(key_of(*job.spec));  // its last user
    }
    BatchPlan choose_batch(const JobState &job, const Shape &shape) override {
        return split_batch(job.spec->profile->batch, job.spec->batch, gpus_of(shape));
    }

    void describe(const JobState &job, policy::Job &out) override {
        if (job.index >= of_job_.size()) of_job_.resize(job.index + 1);
        if (!of_job_[job.index]) of_job_[job.index] = &truth_of(job);
        const Truth &truth = *of_job_[job.index];
        out.curve_ms = truth.curve_ms;
        if (wrong_by_ > 0) out.curve_ms = wrong_curve(job, truth.curve_ms);
        const auto epoch = static_cast<std::size_t>(job.epoch);
        const double in_epoch = job.spec->profile->epoch_ends()[epoch] - job.progress;
        out.steps_left = in_epoch / truth.step_progress[epoch] + truth.steps_until.back() -
                         truth.steps_until[epoch];
        out.steps_done = std::max(0.0, truth.steps - out.steps_left);
    }

  private:
    struct Truth {
        std::vector<float> curve_ms;
        std::vector<double> step_progress, steps_until;  // by epoch
        double steps = 0;
    };

    // A job's own curve in error, and its steps since its last start.
    struct Own {
        std::vector<float> curve_ms;
        int start = 0;
        double steps = 0;
    };

    using Key = std::tuple<const Profile *, int, int, int>;  // profile, batch, least and most GPUs
    static Key key_of(const JobSpec &spec) {
        return {spec.profile.get(), spec.batch, spec.gpus_min,
                std::max(spec.gpus_limit, spec.gpus_asked)};
    }

    const Truth &truth_of(const JobState &job) {
        const Profile &profile = *job.spec->profile;
        Truth &truth = truths_[key_of(*job.spec)];
        if (!truth.curve_ms.empty()) return truth;
        const int most = std::max(job.spec->gpus_limit, job.spec->gpus_asked);
        truth.curve_ms.resize(static_cast<std::size_t>(most));
        for (int gpus = 1; gpus <= most; gpus = policy_.next_size(*job.spec, gpus)) {
            const BatchPlan plan = split_batch(profile.batch, job.spec->batch, gpus);
            truth.curve_ms[static_cast<std::size_t>(gpus) - 1] = static_cast<float>(
                1000 * plan_step_s(profile, shape_of(policy_, gpus, options_.gpus_per_node), plan));
        }
        const std::vector<double> &ends = profile.epoch_ends();
        for (int epoch = 0; epoch < static_cast<int>(ends.size()); ++epoch) {
            truth.step_progress.push_back(profile.step_progress(job.spec->batch, epoch));
            truth.steps_until.push_back(profile.steps_until(job.spec->batch, epoch));
        }
        for (std::size_t epoch = ends.size(); epoch-- > 0;)
            truth.steps +=
                (ends[epoch] - (epoch > 0 ? ends[epoch - 1] : 0)) / truth.step_progress[epoch];
        return truth;
    }

    std::span<const float> wrong_curve(const JobState &job, const std::vector<float> &truth) {
        std::vector<float> &curve = own_[job.index].curve_ms;
        for (std::size_t i = curve.size(); i < truth.size(); ++i)
            curve.push_back(static_cast<float>(
                truth[i] * (1 + wrong_by_ * unit_noise(options_.seed, job.index, i))));
        return curve;
    }

    const PolicySpec &policy_;
    const SimOptions &options_;
    double wrong_by_;
    bool corrects_;  // a size at which the job has run has its measured step time
    std::map<Key, Truth> truths_;
    std::vector<const Truth *> of_job_;  // by index, once described
    std::map<std::size_t, Own> own_;
};

// For a batch that adapts: the truth of the present epoch, without that of later epochs.
class GoodputOracle final : public Estimator {
  public:
    GoodputOracle(const PolicySpec &policy, const SimOptions &options)
        : policy_(policy), options_(options) {}

    void ran(const JobState &, double) override {}
    void restarted(const JobState &, double) override {}
    void forget(const JobState &) override {}
    BatchPlan choose_batch(const JobState &job, const Shape &shape) override {
        return best(*job.spec->profile, shape, job.epoch).plan;
    }
    void describe(const JobState &job, policy::Job &out) override {
        const Profile &profile = *job.spec->profile;
        std::vector<float> &curve = curves_[{&profile, job.epoch}];
        // Never grown, because the spans of other jobs point into it.
        if (curve.empty()) curve.resize(std::size_t(options_.nodes * options_.gpus_per_node), 0);
        const int most = std::min(job.spec->gpus_limit, static_cast<int>(curve.size()));
        for (int gpus = 1; gpus <= most; gpus = policy_.next_size(*job.spec, gpus)) {
            float &ms = curve[static_cast<std::size_t>(gpus) - 1];
            if (ms > 0) continue;
            const Shape shape = shape_of(policy_, gpus, options_.gpus_per_node);
            ms = static_cast<float>(best(profile, shape, job.epoch).ms_per_progress);
        }
        out.curve_ms = curve;
        out.steps_left = profile.epoch_ends().back() - job.progress;
        out.steps_done = job.progress;
    }

  private:
    static BatchChoice best(const Profile &profile, const Shape &shape, int epoch) {
        const int gpus = gpus_of(shape);
        return sim::choose_batch(profile.batch, gpus, [&](BatchPlan plan) {
            return 1000 * plan_step_s(profile, shape, plan) /
                   profile.step_progress(plan.total(gpus), epoch);
        });
    }
    const PolicySpec &policy_;
    const SimOptions &options_;
    std::map<std::pair<const Profile *, int>, std::vector<float>> curves_;
};

}  // namespace

std::unique_ptr<Estimator> make_estimator(const PolicySpec &policy, const SimOptions &options) {
    if (options.knowledge == Knowledge::learned || options.knowledge == Knowledge::alone)
        return make_learned(policy, options);
    if (policy.adapts_batch) return std::make_unique<GoodputOracle>(policy, options);
    return std::make_unique<Oracle>(policy, options);
}

}  // namespace ringrt::sim
