// SPDX-License-Identifier: BSD-3-Clause
// Measurements of jobs with the same name and user apply to the next such jobs.
#include <string>

#include "slurm_plugin/controller/applications.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/job_machine.h"
#include "slurm_plugin/controller/size_cap.h"
#include "slurm_plugin/controller/speed.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::Intent;
using ringrt::records::Telemetry;

namespace {

JobRecord job_of(const std::string &name, uint32_t user_id = 1000) {
    return {.id = 7, .name = name, .user_id = user_id};
}

JobRecord telling(const std::string &name, std::vector<std::pair<int, double>> speeds,
                  uint32_t batch = 64) {
    JobRecord job = job_of(name);
    job.telemetry = Telemetry{.gpus = speeds.back().first,
                              .step = 10,
                              .step_ms = speeds.back().second,
                              .steps_left = 90,
                              .batch = batch,
                              .trained = 10 * batch,
                              .samples = static_cast<int>(speeds.size())};
    for (std::size_t i = 0; i < speeds.size(); ++i)
        job.telemetry->speed[i] = {speeds[i].first, speeds[i].second};
    return job;
}

TEST(an_application_is_known_by_its_jobs_measurements) {
    Applications known;
    known.learn(telling("conv", {{1, 100}, {4, 40}}), 5);
    known.learn(telling("conv", {{2, 60}, {4, 44}}), 6);
    const Application *conv = known.find(job_of("conv"));
    ck_assert_ptr_nonnull(conv);
    ck_assert_uint_eq(conv->speeds.size(), 3);
    ck_assert_int_eq(conv->speeds[2].gpus, 4);
    ck_assert_double_eq(conv->speeds[2].step_ms, 44);
    ck_assert_double_eq(conv->steps_total, 100);
    ck_assert_ptr_null(known.find(job_of("lstm")));
}

TEST(nothing_is_shared_between_users_kinds_of_gpu_and_nameless_jobs) {
    Applications known;
    known.learn(telling("conv", {{1, 100}}), 5);
    ck_assert_ptr_null(known.find(job_of("conv", 1001)));
    JobRecord other_kind = job_of("conv");
    other_kind.gpu_type = "h100";
    ck_assert_ptr_null(known.find(other_kind));
    for (const char *name : {"", "wrap", "sbatch", "bash"}) {
        known.learn(telling(name, {{1, 100}}), 5);
        ck_assert_msg(known.find(job_of(name)) == nullptr, "\"%s\"", name);
    }
}

TEST(a_job_without_measurements_teaches_nothing) {
    Applications known;
    known.learn(job_of("conv"), 5);
    known.learn(telling("conv", {{1, 0}}), 5);
    ck_assert_ptr_null(known.find(job_of("conv")));
}

TEST(another_batch_is_another_application) {
    Applications known;
    known.learn(telling("conv", {{1, 100}, {8, 30}}), 5);
    known.learn(telling("conv", {{1, 900}}, 512), 6);
    ck_assert_uint_eq(known.find(telling("conv", {{1, 100}}))->speeds.size(), 2);
    ck_assert_double_eq(known.find(telling("conv", {{1, 100}}, 512))->speeds[0].step_ms, 900);
    ck_assert_ptr_null(known.find(telling("conv", {{1, 100}}, 128)));
    // A job that has measured nothing is taken for one of the newest batch.
    ck_assert_uint_eq(known.find(job_of("conv"))->batch, 512);
    ck_assert_uint_eq(known.find(telling("conv", {{1, 0}}, 0))->batch, 512);
    known.learn(telling("conv", {{1, 100}}), 7);
    ck_assert_uint_eq(known.find(job_of("conv"))->batch, 64);
}

// What a restart of the job cost counts whole for the next one of its name, start-up included.
TEST(the_cost_of_a_restart_includes_the_start_up) {
    Applications known;
    JobRecord job = telling("conv", {{1, 100}, {2, 60}});
    job.restarts = 1;
    job.intent = Intent{.gpus_min = 1, .gpus_max = 8};
    job.intent->start_up_s = 30;
    known.learn(job, 5);
    ck_assert_double_eq(known.find(job)->restart_s, 0);  // it has not restarted yet
    job.intent->restart_s = 2;
    job.intent->base_step = 5;
    known.learn(job, 6);
    ck_assert_double_eq(known.find(job)->restart_s, 32);
}

// A restarted job has the start-up of its last run in its record until the new run reports. If the
// first start of the program was the faster one, all jobs of its name would seem cheap to restart.
TEST(a_restart_is_learned_from_a_run_that_has_reported) {
    Applications known;
    JobRecord job = telling("conv", {{1, 100}, {2, 60}});
    job.restarts = 1;
    job.intent = Intent{.gpus_min = 1, .gpus_max = 8};
    job.intent->restart_s = 2;
    job.intent->start_up_s = 30;
    job.intent->base_step = -1;
    known.learn(job, 5);
    ck_assert_double_eq(known.find(job)->restart_s, 0);
    job.intent->start_up_s = 119;
    job.intent->base_step = 10;
    known.learn(job, 6);
    ck_assert_double_eq(known.find(job)->restart_s, 121);
    // Its next restart has begun.
    job.intent->base_step = -1;
    job.intent->restart_s = 3;
    known.learn(job, 7);
    ck_assert_double_eq(known.find(job)->restart_s, 121);
}

// The time at which a run began to train comes from its node, and its owner can forge it.
TEST(a_start_up_is_within_the_run) {
    constexpr double kStart_s = 1000, kNow_s = 1060;
    for (const auto &[began_s, start_s, expected_s] : {std::array{1040.0, kStart_s, 40.0},
                                                       {9e9, kStart_s, 60.0},
                                                       {500.0, kStart_s, 0.0},
                                                       {1060.5, kNow_s + 1, 0.0},
                                                       {1040.5, kStart_s, 40.5}}) {
        JobRecord record = telling("conv", {{2, 100}});
        record.phase = JobPhase::running;
        record.gpus_requested = 2;
        record.start_s = start_s;
        record.telemetry->began_s = began_s;
        MalleableJob job{.record = &record, .stage = Stage::running};
        job.intent = {.gpus_max = 8, .state = ringrt::records::IntentState::running, .gpus = 2};
        const PassContext pass{.now_s = kNow_s};
        int notes = 0;
        for (; notes < 5; ++notes) {
            const Action action = next_action(job, {}, {}, pass, {});
            if (action.kind != Action::Kind::note) break;
            job.intent = action.intent;
        }
        ck_assert_double_eq(job.intent.start_up_s, expected_s);
        ck_assert_int_le(notes, 2);  // it is noted once
    }
}

// In place only the GPUs that join compute nothing while their program starts.
TEST(a_resize_in_place_costs_half_a_start_up) {
    for (const auto &[start_up_s, expected_s] : {std::pair{0.5, 1.0}, {30.0, 15.0}}) {
        Observation seen{.now_s = 100};
        seen.nodes = {{.name = "n", .gpus = 8}};
        seen.jobs = {telling("conv", {{2, 100}})};
        JobRecord &record = seen.jobs[0];
        record.phase = JobPhase::running;
        record.gpus_requested = 2;
        record.gpus_on_node = {{0, 2}};
        MalleableJob job{.record = &record, .stage = Stage::running, .is_live = true};
        job.intent = {.gpus_max = 8, .gpus = 2, .restart_s = 3, .start_up_s = start_up_s};
        const Plan plan = decide(seen, {job}, {}, {.resize = Resize::live});
        ck_assert_double_eq(plan.targets.at(0).job.restart_s, expected_s);
    }
}

TEST(the_application_silent_for_longest_is_forgotten) {
    Applications known;
    for (std::size_t i = 0; i <= Applications::kMost; ++i)
        known.learn(telling("app" + std::to_string(i), {{1, 100}}), i == 0 ? 1e9 : double(i));
    ck_assert_ptr_nonnull(known.find(job_of("app0")));
    ck_assert_ptr_null(known.find(job_of("app1")));
    ck_assert_ptr_nonnull(known.find(job_of("app2")));
}

TEST(a_job_that_reports_ever_new_batches_drops_only_its_own) {
    Applications known;
    known.learn(telling("lstm", {{1, 100}}), 1);
    for (uint32_t batch = 1; batch <= 2 * Applications::kMost; ++batch)
        known.learn(telling("conv", {{1, 100}}, batch), 10 + batch);
    ck_assert_ptr_nonnull(known.find(telling("lstm", {{1, 100}})));
    ck_assert_uint_eq(known.find(job_of("conv"))->batch, 2 * Applications::kMost);
    const uint32_t oldest = 2 * Applications::kMost - Applications::kBatchesMost + 1;
    ck_assert_ptr_nonnull(known.find(telling("conv", {{1, 100}}, oldest)));
    ck_assert_ptr_null(known.find(telling("conv", {{1, 100}}, oldest - 1)));
}

TEST(excess_sizes_are_left_out) {
    Applications known;
    for (int gpus = 1; gpus < 40; ++gpus) known.learn(telling("conv", {{gpus, 100.0 / gpus}}), 5);
    ck_assert_uint_eq(known.find(job_of("conv"))->speeds.size(),
                      static_cast<std::size_t>(ringrt::records::kSpeedSamplesMax));
}

// The job's own data may be slower; the curve's shape is the application's.
TEST(other_jobs_measurements_are_scaled_to_the_jobs_own) {
    const Application conv{.batch = 64, .speeds = {{1, 100}, {2, 100}, {4, 100}, {8, 100}}};
    const Telemetry own = *telling("conv", {{1, 150}}).telemetry;
    ck_assert_double_eq_tol(speed_of(own).step_ms(8), 150 * (0.9 / 8 + 0.1), 1e-6);
    ck_assert_double_eq_tol(speed_of(own, conv).step_ms(8), 150, 2);
    ck_assert_double_eq_tol(speed_of(conv).step_ms(8), 100, 1);
    const Telemetry far = *telling("conv", {{1, 500}}).telemetry;  // another program of that name
    ck_assert_double_eq(speed_of(far, conv).step_ms(8), speed_of(far).step_ms(8));
    const Telemetry other_batch = *telling("conv", {{1, 150}}, 128).telemetry;
    ck_assert_double_eq(speed_of(other_batch, conv).step_ms(8), speed_of(other_batch).step_ms(8));
}

// At measured sizes no model is used. Jobs without a batch may differ, whatever their name.
TEST(a_measured_step_time_comes_before_the_model) {
    const Application conv{.batch = 64, .speeds = {{1, 100}, {4, 60}}};
    const Telemetry own = *telling("conv", {{2, 80}, {1, 110}}).telemetry;
    ringrt::policy::Job job{.speed = speed_of(own, conv), .measured = measured_speeds(own, conv)};
    ck_assert_double_eq(step_ms(job, 1), 110);
    ck_assert_double_eq(step_ms(job, 2), 80);
    ck_assert_double_eq_tol(step_ms(job, 4), 66, 1e-9);  // 1.1 times as slow as its application
    ck_assert_double_eq(step_ms(job, 8), job.speed.step_ms(8));
    ck_assert_uint_eq(measured_speeds(conv).size(), 2);
    ck_assert(measured_speeds(*telling("conv", {{2, 80}}, 0).telemetry, {}).empty());
    ck_assert(measured_speeds(Application{.speeds = {{1, 100}}}).empty());
}

// The size that a job starts with in an idle cluster of two nodes with four GPUs each.
int first_size_of(const Application &application, const Intent &intent = {.gpus_max = 8}) {
    Observation seen;
    seen.now_s = 5000;
    for (int i = 0; i < 2; ++i)
        seen.nodes.push_back({.name = "n" + std::to_string(i), .gpus = 4, .partitions = {"main"}});
    seen.jobs.push_back({.id = 1,
                         .name = "conv",
                         .partition = "main",
                         .submit_s = 4990,
                         .priority = 10,
                         .gpus_requested = 1});
    set_intent(seen.jobs[0], intent);
    const Options options{.settle_s = 1};
    const std::map<uint32_t, JobTracker> trackers{{1, {.application = application}}};
    const Plan plan = decide(seen, malleable_jobs(seen, options), trackers, options);
    return plan.targets.at(0).allotment.gpus;
}

TEST(an_application_that_was_never_measured_starts_where_its_user_asked) {
    ck_assert_int_eq(first_size_of({}), 4);  // no request: one node
    ck_assert_int_eq(first_size_of({}, {.gpus_max = 2}), 2);
    ck_assert_int_eq(first_size_of({}, {.gpus_min = 8, .gpus_max = 8}), 8);
    for (const int requested : {1, 2, 4, 8})
        ck_assert_int_eq(first_size_of({}, {.gpus_max = 8, .first_gpus = requested}), requested);
    ck_assert_int_eq(first_size_of({}, {.gpus_min = 3, .gpus_max = 6}), 3);  // four are no size
    ck_assert_int_eq(first_size_of({}, {.gpus_min = 3, .gpus_max = 6, .first_gpus = 6}), 6);
    ck_assert_int_eq(first_size_of({}, {.gpus_min = 6, .gpus_max = 6}), 6);  // more than a node has
    // It has run before: it restarts at any size.
    ck_assert_int_eq(first_size_of({}, {.gpus_max = 8, .first_gpus = 1, .gpus = 1}), 8);
    const Application linear{.batch = 64, .speeds = {{1, 100}, {2, 50}, {4, 25}}};
    ck_assert_int_eq(first_size_of(linear, {.gpus_max = 8, .first_gpus = 1}), 8);
}

TEST(a_new_job_starts_where_its_application_gains) {
    const Application slower{.batch = 64, .speeds = {{1, 100}, {2, 120}, {4, 140}}};
    ck_assert_int_eq(first_size_of(slower), 1);
    Application linear{.batch = 64, .speeds = {{1, 100}}, .steps_total = 10000};
    ck_assert_int_eq(first_size_of(linear), 4);  // four times the most that was measured
    linear.speeds.push_back({2, 50});
    ck_assert_int_eq(first_size_of(linear), 8);
}

// Started at 4990 with one GPU.
std::optional<int> reach_of_running(double now_s, const Application &application,
                                    const std::optional<Telemetry> &telemetry) {
    const Options options{.min_resize_interval_s = 60};
    JobRecord record{.phase = JobPhase::running, .start_s = 4990, .gpus_requested = 1};
    record.telemetry = telemetry;
    const MalleableJob job{.record = &record, .intent = {.gpus_max = 64}, .stage = Stage::running};
    return measured_reach(job, application, now_s, options);
}

TEST(a_job_does_not_grow_before_its_speed_is_known) {
    ck_assert_int_eq(reach_of_running(5049, {}, {}).value_or(0), 1);
    ck_assert(!reach_of_running(5050, {}, {}));  // it reports none
    ck_assert_int_eq(reach_of_running(5000, {}, Telemetry{.gpus = 1}).value_or(0), 1);
    const Telemetry own{.gpus = 1, .step_ms = 100};
    ck_assert_int_eq(reach_of_running(5000, {}, own).value_or(0), 4);
    const Application measured{.speeds = {{2, 50}, {8, 20}}};
    ck_assert_int_eq(reach_of_running(5000, measured, {}).value_or(0), 32);
    ck_assert_int_eq(reach_of_running(9000, measured, own).value_or(0), 32);
    // Measured with another batch.
    const Application other{.batch = 64, .speeds = {{8, 20}}};
    ck_assert_int_eq(reach_of_running(9000, other, own).value_or(0), 4);
}

// Its steps take as long on two GPUs as on one, or longer: one growth shows that, and one shrink at
// most follows. If no two runs are equally fast, or the program forgets what it measured in earlier
// runs, it is resized four times at most.
TEST(a_job_that_gets_no_faster_is_not_resized_again) {
    for (const double scales : {0.0, -0.1, -1.5})
        for (const double noise : {0.0, 0.05})
            for (const bool keeps_speeds : {false, true})
                for (const int max : {2, 8}) {
                    Options options = quick_options();
                    options.min_resize_interval_s = 2;
                    World world({4, 4}, options);
                    FakeCluster &cluster = world.cluster;
                    for (const int gpus : {4, 3}) (void)cluster.submit_rigid(gpus, 20);
                    world.run(2);  // so that it starts with one
                    const uint32_t id = cluster.submit_malleable(1, max,
                                                                 {.steps = 3000,
                                                                  .scales = scales,
                                                                  .noise = noise,
                                                                  .keeps_speeds = keeps_speeds});
                    world.run(1200);
                    const int asked = cluster.count(EventKind::asked);
                    const int most = keeps_speeds && noise == 0 ? 2 : 4;
                    ck_assert_msg(asked >= 1 && asked <= most, "scales %g, MAX %d: %d resizes\n%s",
                                  scales, max, asked, cluster.story(id).c_str());
                    const bool is_known = keeps_speeds && scales == -1.5;
                    ck_assert(!is_known || cluster.job(id).gpus_requested == 1);
                }
}

}  // namespace

int main() { return ringrt::test::run_all("applications"); }
