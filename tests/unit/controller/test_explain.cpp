// SPDX-License-Identifier: BSD-3-Clause
// The controller's explanation of each job, word by word.
#include <algorithm>

#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;

namespace {

// Runs one more pass first.
std::string said_of(World &world, uint32_t id) {
    for (const int passes = world.passes; world.passes == passes;) world.tick();
    const auto all = world.controller->explanations();
    if (!all) return "nothing";
    const auto found = std::ranges::find(*all, id, &Explanation::job_id);
    return found == all->end() ? "nothing of it" : found->text;
}

bool says(World &world, uint32_t id, std::string_view part) {
    return said_of(world, id).find(part) != std::string::npos;
}

}  // namespace

TEST(mode_observe_explains_from_the_first_minute) {
    Options options = quick_options();
    options.mode = Mode::observe;
    World world({4, 4}, options);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run(40);
    EXPECT_TEXT(
        said_of(world, id),
        "has 1 GPU, target 4 GPUs: no other use of these GPUs gains more; 4 -> 8 GPUs would "
        "save 335 s of 967 s left, a restart costs 4.0 s; not signalled (mode: observe); "
        "no more than 4 GPUs, four times the most at which it was measured");
}

TEST(a_first_size_without_measurements_is_explained) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000}, 2);
    ck_assert_msg(said_of(world, id).ends_with("; starts with the 2 GPUs that its script requests "
                                               "because no job of its name was measured yet"),
                  "%s", said_of(world, id).c_str());
    world.run(60);
    ck_assert(!says(world, id, "was measured yet"));
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 8);  // it has grown since
}

TEST(a_resize_in_progress_is_explained) {
    World world({4, 4});
    const uint32_t id =
        world.cluster.submit_malleable(1, 8, {.steps = 3000, .heeds_signal = false});
    world.run(20);
    EXPECT_TEXT(said_of(world, id), "8 GPUs: its MAX; a larger MAX would let it grow");
    world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run_until([&] { return world.cluster.count(EventKind::asked) > 0; }, 30);
    EXPECT_TEXT(said_of(world, id),
                "signalled 0 s ago to save and restart with 4 GPUs instead of 8; called off after "
                "20 s");
}

// Not by its own last resize, which ends sooner.
TEST(a_job_beside_a_waiting_rigid_job_is_explained_by_that) {
    Options options = quick_options();
    options.min_resize_interval_s = 600;
    World world({4, 4}, options);
    const uint32_t id = world.cluster.submit_malleable(4, 8, {.steps = 30000});
    world.run(20);
    world.cluster.submit_rigid(4, 20000);
    world.run_until([&] { return world.cluster.count(EventKind::resized) > 0; }, 60);
    world.run(10);
    EXPECT_TEXT(said_of(world, id), "4 GPUs: not resized because it was resized a moment ago");
    world.cluster.submit_rigid(4, 20000);
    world.run(20);
    EXPECT_TEXT(said_of(world, id),
                "4 GPUs: not resized because a pending job would take its place");
}

// Growth to MAX is a decision; MAX is the reason only if it is kept.
TEST(growth_to_max_is_explained_by_its_gain) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run_until([&] { return world.cluster.count(EventKind::released) > 0; }, 60);
    const auto released = std::ranges::find(world.cluster.events, EventKind::released,
                                            &ringrt::controller::Event::kind);
    ck_assert(released != world.cluster.events.end() && released->to == 8);
    EXPECT_TEXT(released->reason, "best_gain");
    world.run(20);
    EXPECT_TEXT(said_of(world, id), "8 GPUs: its MAX; a larger MAX would let it grow");
}

TEST(a_backoff_is_explained_with_its_end) {
    World world({4, 4});
    const uint32_t id =
        world.cluster.submit_malleable(1, 8, {.steps = 3000, .heeds_signal = false});
    world.run(20);
    world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run_until([&] { return world.cluster.count(EventKind::called_off) > 0; }, 60);
    EXPECT_TEXT(said_of(world, id),
                "8 GPUs: not resized because its last resize failed; tried again in 9 s");
}

TEST(the_breaker_is_explained) {
    Options options = quick_options();
    options.breaker_jobs = 1;
    options.breaker_pause_s = 300;
    options.back_off_s = 1;
    World world({4, 4}, options);
    const uint32_t id =
        world.cluster.submit_malleable(1, 8, {.steps = 3000, .heeds_signal = false});
    world.run(20);
    world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run_until([&] { return world.cluster.count(EventKind::error) > 0; }, 60);
    world.run(5);
    ck_assert_msg(says(world, id, "; not now: no resizes for 29"), "%s",
                  said_of(world, id).c_str());
    ck_assert(says(world, id, " s because several in a row failed"));
}

TEST(a_ceiling_is_explained) {
    World world({4, 4});
    world.cluster.gpus_allowed = 2;
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run(20);
    ck_assert_msg(says(world, id, " no more than 2 GPUs because Slurm did not start it with more"),
                  "%s", said_of(world, id).c_str());
}

// MIN itself was refused, so there is no size up to which Slurm would start it.
TEST(a_refusal_of_min_is_explained) {
    World world({4, 4});
    world.cluster.gpus_allowed = 0;
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run(20);
    ck_assert_msg(says(world, id, " no larger size because Slurm refused to set its MIN"), "%s",
                  said_of(world, id).c_str());
    ck_assert(!says(world, id, "0 GPUs"));
}

TEST(the_fence_is_explained) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run(20);
    world.cluster.requeue(id);
    world.run(3);
    ck_assert_msg(says(world, id, "not released for 1") &&
                      says(world, id, " s because its last run may still be alive on its nodes; "),
                  "%s", said_of(world, id).c_str());
}

TEST(a_job_that_is_held_or_handed_back_is_explained) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.cluster.hold(id, true);
    EXPECT_TEXT(said_of(world, id),
                "waits: held, depends on another job, or has a later start time");
}

TEST(a_limit_is_explained_if_it_holds_a_job) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run(20);
    Observation seen;
    ck_assert(world.cluster.observe(seen) == RpcStatus::ok);
    const auto said = [&](int gpus, int allowed) {
        JobRecord &job = *std::ranges::find(seen.jobs, id, &JobRecord::id);
        job.gpus_requested = gpus;
        job.gpus_on_node = {{0, gpus}};
        job.gpus_allowed = allowed;
        return explain(seen, world.options).at(0).text;
    };
    const std::string limit =
        "; no more than 2 GPUs because the limits of its account, user or QOS allow no more";
    for (const int allowed : {0, 2, 3})
        ck_assert_msg(said(2, allowed).ends_with(limit), "%s", said(2, allowed).c_str());
    ck_assert_msg(said(1, 2).ends_with(limit), "%s", said(1, 2).c_str());
    ck_assert(said(2, 8).find("limits") == std::string::npos);
    // As when it was paused, and other jobs have taken its share of a limit.
    JobRecord &waits = *std::ranges::find(seen.jobs, id, &JobRecord::id);
    waits.phase = JobPhase::pending;
    waits.gpus_on_node.clear();
    waits.gpus_allowed = 0;
    const std::string text = explain(seen, world.options).at(0).text;
    ck_assert_msg(text.ends_with("; the limits of its account, user or QOS leave fewer GPUs than "
                                 "its MIN now"),
                  "%s", text.c_str());
}

// The explanation from the records alone.
TEST(without_a_controller_the_records_alone_are_explained) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run(20);
    Observation seen;
    ck_assert(world.cluster.observe(seen) == RpcStatus::ok);
    const auto all = explain(seen, world.options);
    ck_assert_uint_eq(all.size(), 1);
    ck_assert_uint_eq(all[0].job_id, id);
    ck_assert_int_eq(all[0].gpus, 8);
    EXPECT_TEXT(all[0].text, "8 GPUs: its MAX; a larger MAX would let it grow");
}

int main() { return ringrt::test::run_all("explain"); }
