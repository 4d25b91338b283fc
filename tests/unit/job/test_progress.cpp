// SPDX-License-Identifier: BSD-3-Clause
// Work is counted in samples: what a job reports, and what the policy derives from it, under both
// batch rules, with a batch that changes, and for a job that reports only steps.
#include <cmath>

#include "libringrt/job/progress.h"
#include "slurm_plugin/controller/speed.h"
#include "slurm_plugin/policy/policy.h"
#include "tests/support/check.h"

using namespace ringrt;
using namespace ringrt::job;
using records::Telemetry;

namespace {

// ResNet-110 on CIFAR-10 (arXiv 1908.08082): 160 epochs of 50,000 samples, seconds for one epoch.
constexpr uint32_t kBatch = 128;
constexpr uint64_t kEpoch = 50'000, kSamples = 160 * kEpoch;
double epoch_s(int gpus) { return gpus == 1 ? 138.0 : gpus == 2 ? 81.9 : gpus == 4 ? 47.25 : 29.6; }

Settings settings_of(ringrt_batch_rule_t rule, uint32_t batch = kBatch) {
    Settings settings;
    settings.batch = {.global_batch = batch, .reference_batch = batch, .rule = rule};
    settings.samples_total = kSamples;
    return settings;
}

void train(Progress &progress, int gpus, int steps) {
    for (int i = 0; i < steps; ++i) {
        const auto samples = static_cast<double>(samples_per_step(progress.batch(), gpus));
        progress.timed(1000 * epoch_s(gpus) * samples / static_cast<double>(kEpoch));
        progress.advance(1);
        progress.note_speed();
    }
}

// As the scheduler reads it.
Telemetry told(Progress &progress, int gpus) {
    Telemetry out{.gpus = gpus, .step = progress.steps(), .up = true};
    progress.add_to(out);
    const auto read = records::parse_telemetry(records::format_telemetry(out));
    ck_assert(read.has_value());
    return *read;
}

checkpoint::Manifest saved(const Progress &progress) {
    checkpoint::Meta meta{.step = progress.steps()};
    progress.add_to(meta, true);
    checkpoint::Manifest manifest{.step = meta.step, .samples = meta.samples};
    manifest.batch = meta.batch;
    manifest.speeds = meta.speeds;
    manifest.losses = meta.losses;
    manifest.shards = {{}};
    checkpoint::Manifest read;
    ck_assert(checkpoint::parse_manifest(checkpoint::format_manifest(manifest), read).ok());
    return read;
}

// Alone on a node of 8, at the plugin's default policy.
int next_size(const Telemetry &telemetry) {
    policy::Job job{.id = 1, .gpus_min = 1, .gpus_max = 8, .gpus_now = telemetry.gpus};
    job.steps_done = telemetry.steps_done();
    if (telemetry.steps_left >= 0) job.steps_left = static_cast<double>(telemetry.steps_left);
    job.speed = controller::speed_of(telemetry);
    const policy::Policy &doubling = *policy::find_policy("doubling");
    const policy::Options options =
        policy::options_of(doubling, [](const policy::Param &param) { return param.initial; });
    return doubling.decide({&job, 1}, {.node_gpus = {8}}, options)[0].gpus;
}

// Sizes over four decisions, each after a hundred steps, with a checkpoint between.
std::vector<int> sizes(Settings settings, int first, std::vector<Telemetry> *tells = nullptr) {
    std::vector<int> out{first};
    checkpoint::Manifest manifest{.ranks = 1};
    for (int i = 0; i < 4; ++i) {
        Progress progress(settings, out.back());
        progress.restore(manifest);
        train(progress, out.back(), 100);
        const Telemetry telemetry = told(progress, out.back());
        if (tells) tells->push_back(telemetry);
        out.push_back(next_size(telemetry));
        manifest = saved(progress);
    }
    return out;
}

}  // namespace

TEST(both_batch_modes_grow_to_eight_and_stay) {
    for (const auto rule : {RINGRT_FIXED_GLOBAL_BATCH, RINGRT_FIXED_BATCH_PER_GPU})
        for (const int first : {1, 2, 4, 8})
            for (const uint64_t total : {kSamples, uint64_t{0}}) {
                Settings settings = settings_of(rule);
                settings.samples_total = total;  // 0: the remaining work is unknown
                const std::vector<int> seen = sizes(settings, first);
                for (std::size_t i = 1; i < seen.size(); ++i)
                    ck_assert_msg(seen[i] == 8, "rule %d from %d: %d GPUs after decision %zu", rule,
                                  first, seen[i], i);
            }
}

TEST(both_batch_modes_report_the_same_speeds) {
    for (const int gpus : {1, 2, 4, 8}) {
        Progress global(settings_of(RINGRT_FIXED_GLOBAL_BATCH), gpus);
        Progress per_gpu(settings_of(RINGRT_FIXED_BATCH_PER_GPU), gpus);
        train(global, gpus, 8 * 100);
        train(per_gpu, gpus, 8 * 100 / gpus);
        const Telemetry a = told(global, gpus), b = told(per_gpu, gpus);
        ck_assert_double_eq_tol(a.samples_per_s(), double(kEpoch) / epoch_s(gpus), 0.1);
        ck_assert_double_eq_tol(b.samples_per_s(), a.samples_per_s(), 0.1);
        ck_assert_int_eq(b.steps_left, a.steps_left);
        ck_assert_uint_eq(b.trained, a.trained);
        ck_assert_double_eq_tol(b.steps_done(), a.steps_done(), 1e-9);
    }
}

// Without a batch a step is a step at every size: this job gains nothing from more GPUs.
TEST(a_job_without_a_batch_reports_its_steps) {
    Settings settings;
    settings.steps_total = 1000;
    Progress progress(settings, 8);
    for (int i = 0; i < 100; ++i) {
        progress.timed(250);
        progress.advance(1);
    }
    const Telemetry telemetry = told(progress, 8);
    ck_assert_uint_eq(telemetry.batch, 0);
    ck_assert_double_eq(telemetry.step_ms, 250);
    ck_assert_int_eq(telemetry.steps_left, 900);
    ck_assert_double_eq(telemetry.steps_done(), 100);
    ck_assert_double_eq(telemetry.samples_per_s(), 0);
    const Telemetry old = *records::parse_telemetry(
        "ringrt/1 run=0 gpus=8 step=100 step_ms=250 left=900 up=1 speed=1:200,8:250");
    ck_assert_int_eq(next_size(old), 1);
}

// The batch quadruples and a step takes four times as long: the speed is the same, with a quarter
// of the steps left.
TEST(a_changed_batch_does_not_change_the_speed) {
    Progress progress(settings_of(RINGRT_FIXED_GLOBAL_BATCH), 4);
    train(progress, 4, 100);
    const Telemetry before = told(progress, 4);
    ck_assert(progress.set_batch(4 * kBatch).ok());
    train(progress, 4, 100);
    const Telemetry after = told(progress, 4);
    ck_assert_double_eq_tol(after.samples_per_s(), before.samples_per_s(), 0.1);
    ck_assert_uint_eq(after.trained, 100 * kBatch + 100 * 4 * kBatch);
    ck_assert_int_eq(before.steps_left - after.steps_left, 400);
    ck_assert(progress.set_steps_left(10).ok());  // in the job's own steps
    ck_assert_int_eq(told(progress, 4).steps_left, 40);
    train(progress, 4, 4);
    ck_assert_int_eq(told(progress, 4).steps_left, 24);
    ck_assert(progress.set_samples_left(kBatch * 7 - 1).ok());
    ck_assert_int_eq(told(progress, 4).steps_left, 7);
    ck_assert(progress.set_steps_left(INT64_MAX).ok());
    ck_assert_int_eq(told(progress, 4).steps_left, 999'999'999'999'999);
}

// A program that multiplies its batch by its ranks configures another batch in each run.
TEST(a_checkpoint_of_another_batch_is_read_in_its_own_terms) {
    Progress two(settings_of(RINGRT_FIXED_GLOBAL_BATCH, 2 * kBatch), 2);
    train(two, 2, 100);
    Progress eight(settings_of(RINGRT_FIXED_GLOBAL_BATCH, 8 * kBatch), 8);
    eight.restore(saved(two));
    train(eight, 8, 100);
    const Telemetry telemetry = told(eight, 8);
    ck_assert_int_eq(telemetry.samples, 2);
    ck_assert_double_eq_tol(telemetry.speed[0].step_ms / telemetry.speed[1].step_ms, 81.9 / 29.6,
                            1e-3);
    ck_assert_uint_eq(telemetry.trained, 100 * 10 * kBatch);
    ck_assert_int_eq(next_size(telemetry), 8);
}

// A checkpoint without a batch comes from an older library: the times are of the job's own steps.
TEST(an_older_checkpoint_counts_the_jobs_own_steps) {
    checkpoint::Manifest manifest{.step = 50, .samples = 50 * 2 * kBatch};
    manifest.speeds = {{1, 100}, {2, 120}};
    Progress progress(settings_of(RINGRT_FIXED_BATCH_PER_GPU), 4);
    progress.restore(manifest);
    const Telemetry telemetry = told(progress, 4);
    ck_assert_double_eq(telemetry.speed[0].step_ms, 100);
    ck_assert_double_eq(telemetry.speed[1].step_ms, 60);
}

// The loss falls with the samples, so the curve continues when the batch changes.
TEST(the_loss_is_a_curve_over_samples) {
    const model::LossModel truth{.b0 = 2e-3, .b1 = 0.4, .b2 = 0.3};  // over reference steps
    Settings settings = settings_of(RINGRT_FIXED_BATCH_PER_GPU);
    settings.samples_total = 0;
    checkpoint::Manifest manifest{.ranks = 1};
    for (const int gpus : {1, 8}) {
        Progress progress(settings, gpus);
        progress.restore(manifest);
        for (int i = 0; i < 4000 / gpus; ++i) {
            const double at = static_cast<double>(progress.samples()) / kBatch + gpus;
            progress.record_loss(truth.loss(at), 0.33);
            progress.advance(1);
        }
        const double left = 16467 - static_cast<double>(progress.samples()) / kBatch;
        ck_assert_double_eq_tol(static_cast<double>(told(progress, gpus).steps_left), left,
                                0.2 * left);
        manifest = saved(progress);
    }
}

int main() { return test::run_all("progress"); }
