// SPDX-License-Identifier: BSD-3-Clause
// The estimator that starts a trace without data and learns from the jobs' measurements.
//
// A job reports what libringrt's telemetry contains: its step time where it runs, its progress,
// and, if its batch adapts, its present gradient noise. The cost of its restarts is measured by
// whoever restarts it. Speeds and gradient noise are learned per family (the job's application: a
// site identifies it by the job name). Restart costs are also learned per family until a job has
// its own. A family without measurements, and sizes far beyond the measured ones, are guesses: a
// job may grow to twice the largest measured size of its family, so that exploration costs little.
// On a GPU type without measurements the family's speed is taken from another type. It is scaled by
// how much faster one GPU is with the largest batch that fits, which every family is assumed to
// have measured (Sia, SOSP 2023, does the same). There a job grows to the other type's measured
// sizes.
//
// A job that learns alone (NAME@alone) starts on one GPU and climbs by itself. Each stage of its
// climb costs a restart that no other job shares, so it may grow to four times its largest size.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "model/placement.h"
#include "sim/engine/engine.h"
#include "sim/engine/gradients.h"
#include "sim/workload/batch_choice.h"
#include "slurm_plugin/policy/value.h"

namespace ringrt::sim {
namespace {

constexpr std::size_t kSamplesMax = 256;

// How far beyond the largest measured size a job may grow.
constexpr int kGrowthShared = 2, kGrowthAlone = 4;

// What a job that learns alone and adapts its batch is expected to need yet: this long on one GPU,
// and this part of what it did. It is the mean residual life of a Pareto II distribution of jobs.
// Seconds count, because a step of one application takes a hundred times as long as another's.
constexpr double kAloneLeft_s = 3000, kAloneLeftOfDone = 0.5;

struct Mean {
    double sum = 0;
    int count = 0;
    void add(double value) {
        sum += value;
        ++count;
    }
    [[nodiscard]] double value() const { return sum / count; }
};

struct Family {
    Mean restart_s;
    std::map<std::array<int, 4>, double> step_ms;  // by GPUs, nodes, passes, local batch
    int largest = 0;                               // largest measured size in GPUs
    model::PlacementModel model;
    model::Usual usual = model::kUsualOfFixedBatch;
    bool stale = false;
    uint64_t version = 1;
    double one_gpu = 0;  // samples per ms of one GPU, with the largest batch that fits
    Gradients gradients;

    // The measured time if there is one; otherwise the model's.
    [[nodiscard]] double step_ms_at(int gpus, int nodes, BatchPlan plan) const {
        const auto measured = step_ms.find({gpus, nodes, plan.passes, plan.local});
        return measured != step_ms.end() ? measured->second
                                         : model.step_ms(gpus, nodes, plan.passes, plan.local);
    }

    void refit() {
        std::vector<model::StepSample> samples;
        for (const auto &[key, ms] : step_ms)
            samples.push_back({.gpus = key[0],
                               .nodes = key[1],
                               .passes = key[2],
                               .local_batch = double(key[3]),
                               .step_ms = ms});
        model = model::fit_placement_model(samples, usual);
        stale = false;
        ++version;
    }
};

// The speed of a job: that of its family, here or on another GPU type.
struct Known {
    const Family *family;
    double scale = 1;
    std::size_t gpu_type = 0;

    [[nodiscard]] int largest() const { return family->largest; }
    [[nodiscard]] double step_ms_at(int gpus, int nodes, BatchPlan plan) const {
        return scale * family->step_ms_at(gpus, nodes, plan);
    }
};

// What a job has run since its last start, at one size and batch.
struct Stretch {
    std::array<int, 4> key{};
    int start = 0;
    double steps = 0;
};

struct Curve {
    std::vector<float> ms;
    uint64_t version = 0;
    std::size_t gpu_type = 0;
    int epoch = -1;
};

// What is known of one job.
struct Record {
    Family *family = nullptr;
    Stretch stretch;
    Curve curve;
    Mean restart_s;  // its own
};

class Learned final : public Estimator {
  public:
    Learned(const PolicySpec &policy, const SimOptions &options)
        : policy_(policy),
          adapts_(policy.adapts_batch),
          is_alone_(options.knowledge == Knowledge::alone),
          options_(options) {}

    void ran(const JobState &job, double steps) override {
        const std::array<int, 4> key{job.gpus, int(job.shape.size()), job.plan.passes,
                                     job.plan.local};
        // A step may take longer than the time between two decisions.
        Record &record = record_of(job);
        Stretch &stretch = record.stretch;
        if (stretch.key != key || stretch.start != job.starts) stretch = {key, job.starts, 0};
        stretch.steps += steps;
        if (stretch.steps < 1) return;
        Family &family = *record.family;
        if (adapts_ && !is_alone_) {
            const int batch = job.plan.total(job.gpus);
            family.gradients.note(job.epoch, batch, job.spec->profile->gradient(batch, job.epoch));
        }
        if (family.step_ms.size() >= kSamplesMax) return;
        if (!family.step_ms.emplace(key, job.step_s * 1000).second) return;
        family.largest = std::max(family.largest, job.gpus);
        family.stale = true;
    }

    void restarted(const JobState &job, double seconds) override {
        Record &record = record_of(job);
        record.family->restart_s.add(seconds);
        record.restart_s.add(seconds);
    }

    void describe(const JobState &job, policy::Job &out) override {
        Record &record = record_of(job);
        const Family &family = *record.family;
        out.restart_s = record.restart_s.count > 0   ? record.restart_s.value()
                        : family.restart_s.count > 0 ? family.restart_s.value()
                                                     : options_.restart_s;
        const Known known = known_of(job, record);
        Curve &curve = record.curve;
        if (curve.version != known.family->version || curve.gpu_type != known.gpu_type ||
            (adapts_ && curve.epoch != job.epoch))
            redraw(job, known, curve);
        out.curve_ms = curve.ms;
        const bool is_measured = known.family == &family;
        const int growth = is_alone_ ? kGrowthAlone : kGrowthShared;
        out.gpus_cap = std::max({1, job.gpus, (is_measured ? growth : 1) * known.largest()});
        // Without data the job starts at the size that its user requested; jobs in mode `alone`,
        // which always start without data, start on one GPU.
        if (known.largest() == 0 && !is_alone_)
            out.gpus_cap = std::max(job.gpus, job.spec->gpus_asked);
        const double left = job.spec->profile->epoch_ends().back() - job.progress;
        const double worth = adapts_ ? 1 : noise_now(job).progress(job.spec->batch);
        out.steps_left = left / worth;
        out.steps_done = job.progress / worth;
        if (known.largest() == 0 || is_alone_) out.steps_left = policy::kUnknown;
        if (known.largest() > 0 && is_alone_ && adapts_)
            out.steps_left = kAloneLeft_s * 1000 / std::max(policy::kStepMin_ms, step_ms(out, 1)) +
                             kAloneLeftOfDone * out.steps_done;
    }

    BatchPlan choose_batch(const JobState &job, const Shape &shape) override {
        const Known known = known_of(job, record_of(job));
        return best_batch(job, known, noise_now(job), gpus_of(shape), int(shape.size())).plan;
    }

    void meet(std::span<Estimator *const> all) override {
        for (Estimator *other : all) gpu_types_.push_back(static_cast<Learned *>(other));
    }

    void forget(const JobState &job) override { records_.erase(job.index); }

  private:
    [[nodiscard]] std::string key_of(const JobState &job) const {
        return is_alone_ ? std::to_string(job.index) : job.spec->application;
    }
    Family &family_of(const JobState &job) {
        Family &family = families_[key_of(job)];
        if (adapts_) family.usual = model::kUsualOfSmallestBatch;
        return family;
    }

    Record &record_of(const JobState &job) {
        Record &record = records_[job.index];
        if (record.family == nullptr) record.family = &family_of(job);
        return record;
    }

    Known known_of(const JobState &job, const Record &record) {
        Family &own = *record.family;
        const Profile &profile = *job.spec->profile;
        if (own.one_gpu == 0)
            own.one_gpu = profile.batch.local_max /
                          (1000 * plan_step_s(profile, {1}, {.local = profile.batch.local_max}));
        Known best{.family = &own};
        if (own.largest == 0)
            for (std::size_t gpu_type = 0; gpu_type < gpu_types_.size(); ++gpu_type) {
                Family &other = gpu_types_[gpu_type]->family_of(job);
                if (other.largest <= best.largest() || other.one_gpu == 0) continue;
                if (other.stale) other.refit();
                best = {.family = &other,
                        .scale = other.one_gpu / own.one_gpu,
                        .gpu_type = gpu_type + 1};
            }
        if (own.stale) own.refit();
        return best;
    }

    // The gradient noise that a job measures now, and the progress of a step at another batch.
    struct Noise {
        Gradient now;
        int initial_batch;
        [[nodiscard]] double progress(int total_batch, Gradient gradient) const {
            const auto [square, variance] = gradient;
            const double denominator = variance * initial_batch / total_batch + square;
            return denominator > 0 ? (variance + square) / denominator : 1;
        }
        [[nodiscard]] double progress(int total_batch) const { return progress(total_batch, now); }
    };
    static Noise noise_now(const JobState &job) {
        const Profile &profile = *job.spec->profile;
        const int now = job.gpus > 0      ? job.plan.total(job.gpus)
                        : job.samples > 0 ? job.samples
                                          : profile.batch.initial;
        return {profile.gradient(now, job.epoch), profile.batch.initial};
    }

    static BatchChoice best_batch(const JobState &job, const Known &known, const Noise &noise,
                                  int gpus, int nodes) {
        const BatchLimits &limits = job.spec->profile->batch;
        const auto cost = [&](BatchPlan plan) {
            const int batch = plan.total(gpus);
            const Gradient gradient = known.family->gradients.at(job.epoch, batch, noise.now);
            return known.step_ms_at(gpus, nodes, plan) / noise.progress(batch, gradient);
        };
        if (known.largest() > 0) return sim::choose_batch(limits, gpus, cost);
        const int least =
            std::max(limits.initial, limits.local_min * gpus);  // nothing measured yet
        const BatchPlan plan = split_batch(limits, std::min(least, limits.total_max), gpus);
        return {plan, cost(plan)};
    }

    void redraw(const JobState &job, const Known &known, Curve &curve) const {
        const int most = std::max(job.spec->gpus_limit, job.spec->gpus_asked);
        const Noise noise = noise_now(job);
        curve.ms.assign(static_cast<std::size_t>(most), 0);
        for (int gpus = 1; gpus <= most; gpus = policy_.next_size(*job.spec, gpus)) {
            const int nodes = (gpus + options_.gpus_per_node - 1) / options_.gpus_per_node;
            float &ms = curve.ms[static_cast<std::size_t>(gpus) - 1];
            if (adapts_) {
                ms = static_cast<float>(best_batch(job, known, noise, gpus, nodes).ms_per_progress);
                continue;
            }
            const BatchPlan plan = split_batch(job.spec->profile->batch, job.spec->batch, gpus);
            ms = static_cast<float>(known.step_ms_at(gpus, nodes, plan));
        }
        curve.version = known.family->version;
        curve.gpu_type = known.gpu_type;
        curve.epoch = job.epoch;
    }

    const PolicySpec &policy_;
    bool adapts_;
    bool is_alone_;
    const SimOptions &options_;
    std::vector<Learned *> gpu_types_;  // of all GPU types; empty: there is one
    std::map<std::string, Family> families_;
    std::map<std::size_t, Record> records_;  // by JobState::index
};

}  // namespace

std::unique_ptr<Estimator> make_learned(const PolicySpec &policy, const SimOptions &options) {
    return std::make_unique<Learned>(policy, options);
}

}  // namespace ringrt::sim
