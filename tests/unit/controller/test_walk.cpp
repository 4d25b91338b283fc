// SPDX-License-Identifier: BSD-3-Clause
// Every combination of state and event, and a random walk over a thousand seeds.
#include <cstdlib>

#include "tests/support/check.h"
#include "tests/support/perturbations.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::IntentState;

// ---- every combination of state and event
// ---------------------------------------------------------

namespace {

bool is_in(const FakeCluster &c, uint32_t id, JobPhase phase, IntentState state) {
    return c.job(id).phase == phase && c.intent(id).state == state;
}

struct State {
    const char *name;
    bool (*reached)(const FakeCluster &, uint32_t id);
    bool is_brief = false;    // it may pass between two ticks
    bool is_crowded = false;  // it lasts only if its GPUs are not free: a rigid job has them
};

constexpr JobPhase kPending = JobPhase::pending, kRunning = JobPhase::running;

const State kStates[] = {
    {"unsized",
     [](const FakeCluster &c, uint32_t id) { return is_in(c, id, kPending, IntentState::queued); }},
    {"eligible",
     [](const FakeCluster &c, uint32_t id) {
         return is_in(c, id, kPending, IntentState::released);
     },
     false, true},
    {"starting",
     [](const FakeCluster &c, uint32_t id) {
         return is_in(c, id, kRunning, IntentState::released);
     },
     true},
    {"running",
     [](const FakeCluster &c, uint32_t id) {
         return is_in(c, id, kRunning, IntentState::running) && c.intent(id).base_step >= 0;
     }},
    {"signalled",
     [](const FakeCluster &c, uint32_t id) { return is_in(c, id, kRunning, IntentState::asked); }},
    {"completing",
     [](const FakeCluster &c, uint32_t id) {
         return is_in(c, id, JobPhase::completing, IntentState::asked);
     }},
    {"requeued",
     [](const FakeCluster &c, uint32_t id) { return is_in(c, id, kPending, IntentState::asked); }},
    {"resized",
     [](const FakeCluster &c, uint32_t id) {
         return is_in(c, id, kRunning, IntentState::running) && c.intent(id).resizes > 0;
     }},
};
constexpr std::size_t kRunningState = 3, kSignalledState = 4;

void reach(World &world, uint32_t id, const State &state, const std::string &where) {
    const auto reached = [&] { return state.reached(world.cluster, id); };
    if (!state.is_brief) {
        ck_assert_msg(world.run_until(reached, 120) >= 0, "%s: not reached\n%s", where.c_str(),
                      world.cluster.story().c_str());
        return;
    }
    while (!reached() && world.cluster.now_s() < world.cluster.job(id).submit_s + 20) world.tick();
}

// A pause for the newest job (last_first.cpp): its states are those of the paused one.
const State kPauseStates[] = {
    {"asked to pause",
     [](const FakeCluster &c, uint32_t id) { return is_in(c, id, kRunning, IntentState::asked); }},
    {"leaving to pause",
     [](const FakeCluster &c, uint32_t id) {
         return is_in(c, id, JobPhase::completing, IntentState::asked);
     }},
    {"left to pause",
     [](const FakeCluster &c, uint32_t id) { return is_in(c, id, kPending, IntentState::asked); }},
    {"paused",
     [](const FakeCluster &c, uint32_t id) { return is_in(c, id, kPending, IntentState::paused); }},
    {"resumed",
     [](const FakeCluster &c, uint32_t id) {
         return c.intent(id).state == IntentState::running && c.job(id).restarts > 0;
     }},
};

void try_pause(const State &state, const Perturbation &perturbation) {
    const std::string where = std::string(state.name) + " x " + perturbation.name;
    World world({4, 4}, pausing_options());
    world.cluster.may_pause = true;
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 400});
    reach(world, id, kStates[kRunningState], where);
    world.cluster.submit_malleable(1, 8, {.steps = 300});
    ck_assert_msg(world.run_until([&] { return state.reached(world.cluster, id); }, 300) >= 0,
                  "%s: not reached\n%s", where.c_str(), world.cluster.story().c_str());
    perturbation.begin(world, id);
    world.run(perturbation.lasts_s);
    if (perturbation.end) perturbation.end(world, id);
    expect_all_finish(world, 6000, where.c_str());
    ck_assert_msg(perturbation.ends_job || world.cluster.completed(id), "%s\n%s", where.c_str(),
                  world.cluster.story().c_str());
    ck_assert_msg(world.cluster.lost_steps(id) == 0, "%s: lost steps", where.c_str());
}

void try_one(std::size_t index, const Perturbation &perturbation) {
    const State &state = kStates[index];
    const std::string where = std::string(state.name) + " x " + perturbation.name;
    World world({4, 4});
    const Program program{.steps = 400};
    if (state.is_crowded) {
        world.cluster.submit_rigid(8, 40, 10, 2);
        world.run(1);
    }
    const uint32_t id = world.cluster.submit_malleable(1, 8, program);
    if (index > kRunningState) reach(world, id, kStates[kRunningState], where);
    if (index >= kSignalledState) world.cluster.submit_malleable(1, 8, program);
    reach(world, id, state, where);
    perturbation.begin(world, id);
    world.run(perturbation.lasts_s);
    if (perturbation.end) perturbation.end(world, id);
    expect_all_finish(world, 6000, where.c_str());
    ck_assert_msg(perturbation.ends_job || world.cluster.completed(id), "%s\n%s", where.c_str(),
                  world.cluster.story().c_str());
    ck_assert_msg(world.cluster.lost_steps(id) == 0, "%s: lost steps", where.c_str());
}

}  // namespace

TEST(every_state_and_every_happening) {
    for (std::size_t state = 0; state < std::size(kStates); ++state)
        for (const Perturbation &perturbation : kPerturbations) try_one(state, perturbation);
}

TEST(every_state_of_a_pause_and_every_happening) {
    for (const State &state : kPauseStates)
        for (const Perturbation &perturbation : kPerturbations) try_pause(state, perturbation);
}

// ---- a random walk ----------------------------------------------------------------------------

namespace {

void disturb(World &world, std::mt19937_64 &random, const std::vector<uint32_t> &jobs, bool kills) {
    const uint32_t id = jobs[random() % jobs.size()];
    switch (random() % 16) {
        case 0:
            if (random() % 4 == 0) world.cluster.cancel_as_user(id);
            break;
        case 1:
            world.cluster.hold(id, true);
            break;
        case 2:
            world.cluster.hold(id, false);
            break;
        case 3:
            world.cluster.suspend(id, true);
            break;
        case 4:
            world.cluster.suspend(id, false);
            break;
        case 5:
            world.cluster.requeue(id);
            break;
        case 6:
            world.cluster.lose_node(static_cast<int>(random() % 2));
            break;
        case 7:
        case 8:
            world.return_node(0);
            world.return_node(1);
            break;
        case 9:
            world.restart();
            break;
        case 10:
        case 11:
            if (kills) world.kill(static_cast<double>(random() % 6));
            break;
        case 12:
            world.cluster.advance(static_cast<double>(random() % 40));
            break;
        case 13:
            world.cluster.submit_rigid(1 + static_cast<int>(random() % 4), 20,
                                       static_cast<double>(random() % 3));
            break;
        case 14: {  // of whole nodes
            const int nodes = 1 + static_cast<int>(random() % 3);
            const uint32_t rigid =
                world.cluster.submit_rigid(4 * nodes, 20, static_cast<double>(random() % 3), nodes);
            if (random() % 2 == 0) world.cluster.set_time_limit(rigid, 30);
            break;
        }
        default:
            break;
    }
}

void walk(uint64_t seed, Options options) {
    std::mt19937_64 random(seed);
    World world({4, 4, 2, 8}, options, seed);
    world.cluster.may_pause = options.pause == Pausing::all;
    world.cluster.faults = {.busy = 0.1, .unreachable = 0.05, .lost_answer = 0.05, .refused = 0.03};
    std::vector<uint32_t> jobs;
    for (int n = 3 + static_cast<int>(random() % 4); n > 0; --n) {
        const int min = 1 << (random() % 2);
        Program program{.steps = 50 + static_cast<double>(random() % 300)};
        if (random() % 4 == 0)
            program = {.steps = 2 + static_cast<double>(random() % 10), .step_s = 40};
        program.telemetry_s = random() % 4 ? 1 + static_cast<double>(random() % 8) : 0;
        program.heeds_signal = random() % 5 != 0;
        program.has_handler_late = random() % 3 == 0;
        if (random() % 4 == 0) program.fails_from = min << (random() % 3);
        jobs.push_back(world.cluster.submit_malleable(min, min << (random() % 4), program));
        world.run(static_cast<double>(random() % 20));
        for (int k = 0; k < 4; ++k) {
            disturb(world, random, jobs, true);
            world.run(static_cast<double>(random() % 60) / 4);
        }
    }
    world.cluster.faults = {};
    for (const uint32_t id : jobs) {
        world.cluster.hold(id, false);
        world.cluster.suspend(id, false);
    }
    world.return_node(0);
    world.return_node(1);
    const std::string where = "seed " + std::to_string(seed);
    expect_all_finish(world, 8000, where.c_str());
    for (const uint32_t id : jobs)
        ck_assert_msg(world.cluster.lost_steps(id) == 0, "%s: lost steps", where.c_str());
}

}  // namespace

TEST(random_walks) {
    const char *given = std::getenv("RINGRT_TEST_SEEDS");
    const uint64_t seeds = given ? std::strtoull(given, nullptr, 10) : 1000;
    for (uint64_t seed = 1; seed <= seeds; ++seed) walk(seed, quick_options());
}

TEST(random_walks_with_pauses) {
    const char *given = std::getenv("RINGRT_TEST_SEEDS");
    const uint64_t seeds = given ? std::strtoull(given, nullptr, 10) : 1000;
    for (uint64_t seed = 1; seed <= seeds; ++seed) walk(seed, pausing_options());
}

int main() { return ringrt::test::run_all("walk", 600); }
