// SPDX-License-Identifier: BSD-3-Clause
// Which jobs give GPUs back for a rigid job: as few jobs as possible, and among these as few GPUs
// as possible.
#include <algorithm>

#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/lenders.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::policy::NodeShare;
using ringrt::records::IntentState;

namespace {

using Ids = std::vector<uint32_t>;

struct Site {
    Observation seen;

    explicit Site(const std::vector<int> &nodes) {
        seen.now_s = 5000;
        for (const int gpus : nodes)
            seen.nodes.push_back({.name = "n" + std::to_string(seen.nodes.size()),
                                  .gpus = gpus,
                                  .partitions = {"main"}});
    }
    JobRecord &add(int gpus, const std::vector<NodeShare> &nodes) {
        seen.jobs.push_back({.id = static_cast<uint32_t>(seen.jobs.size() + 1),
                             .partition = "main",
                             .submit_s = 4000,
                             .priority = 10,
                             .gpus_requested = gpus});
        JobRecord &job = seen.jobs.back();
        if (!nodes.empty()) {
            job.phase = JobPhase::running;
            job.start_s = 4000;
            job.gpus_on_node = nodes;
        }
        return job;
    }
    void malleable(int min, int max, const std::vector<NodeShare> &nodes) {
        int gpus = 0;
        for (const auto &[node, here] : nodes) gpus += here;
        set_intent(add(gpus, nodes), {.gpus_min = min,
                                      .gpus_max = max,
                                      .state = IntentState::running,
                                      .gpus = gpus,
                                      .run = 0});
    }
    // A rigid job is pending. any_shares: requested by `--gpus` alone.
    void waits(int gpus, int nodes, bool any_shares = false, int nodes_most = 0) {
        JobRecord &job = add(gpus, {});
        job.pending_reason = PendingReason::resources;
        job.nodes_requested = nodes;
        job.any_shares = any_shares;
        job.nodes_most = nodes_most;
    }
    // The jobs that are to give GPUs back.
    [[nodiscard]] Plan plan(Pausing pause) const {
        const Options options{.mode = Mode::act, .pause = pause};
        std::vector<MalleableJob> jobs = malleable_jobs(seen, options);
        for (MalleableJob &job : jobs) job.may_move = job.stage == Stage::running;
        return decide(seen, jobs, {}, options);
    }
    [[nodiscard]] Ids giving() const {
        Options options;
        options.mode = Mode::act;
        const std::vector<MalleableJob> jobs = malleable_jobs(seen, options);
        const Plan plan = decide(seen, jobs, {}, options);
        Ids out;
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (plan.targets[i].allotment.gpus < jobs[i].record->gpus_requested ||
                jobs[i].intent.state == IntentState::asked)
                out.push_back(jobs[i].record->id);
        return out;
    }
};

}  // namespace

TEST(one_job_gives_instead_of_two) {
    for (const bool any_shares : {false, true}) {
        Site site({4, 4});
        site.malleable(1, 2, {{0, 2}});
        site.malleable(1, 2, {{0, 2}});
        site.malleable(1, 4, {{1, 4}});
        site.waits(2, 1, any_shares, any_shares ? 1 : 0);
        ck_assert(site.giving() == Ids{3});
    }
}

TEST(among_single_jobs_the_one_with_the_fewest_gpus_gives) {
    Site site({4, 4});
    site.malleable(1, 4, {{0, 4}});  // would halve itself for one GPU
    site.malleable(1, 2, {{1, 2}});
    site.add(2, {{1, 2}});
    site.waits(1, 1);
    ck_assert(site.giving() == Ids{2});
}

TEST(a_set_of_nodes_is_chosen_by_the_same_rule) {
    Site site({4, 4, 4});
    site.malleable(1, 2, {{0, 2}});
    site.malleable(1, 2, {{0, 2}});
    site.malleable(1, 4, {{1, 4}});
    site.malleable(1, 4, {{2, 4}});
    site.waits(4, 2);
    ck_assert((site.giving() == Ids{3, 4}));
}

// Shares follow the nodes: two nodes of 4 and 5 GPUs, and a count that does not divide evenly.
TEST(uneven_shares_come_from_few_jobs) {
    Site site({4, 5});
    site.malleable(1, 2, {{0, 2}});
    site.malleable(1, 2, {{0, 2}});
    site.malleable(1, 4, {{1, 4}});
    site.add(1, {{1, 1}});
    site.waits(2, 1, true);
    ck_assert(site.giving() == Ids{3});
}

TEST(free_gpus_are_used_if_no_more_jobs_must_give) {
    Site site({4, 4});
    site.malleable(1, 4, {{0, 4}});
    site.malleable(1, 2, {{1, 2}});  // and two GPUs are free
    site.waits(3, 1);
    ck_assert(site.giving() == Ids{2});
}

TEST(among_equals_the_first_node_is_chosen) {
    Site site({4, 4, 4});
    for (int node = 0; node < 3; ++node) site.malleable(1, 4, {{node, 4}});
    site.waits(2, 1);
    ck_assert(site.giving() == Ids{1});
}

// By an administrator or by gang scheduling: it keeps its GPUs and answers nothing.
TEST(a_suspended_job_is_no_lender) {
    for (const bool any_shares : {false, true}) {
        Site site({4, 4});
        site.malleable(1, 4, {{0, 4}});
        site.seen.jobs[0].phase = JobPhase::suspended;
        site.malleable(1, 4, {{1, 4}});
        site.waits(2, 1, any_shares);
        ck_assert(site.giving() == Ids{2});
    }
}

// ExclusiveUser: while a job of another user is on a node, a job does not start there. So idle GPUs
// beside it are of no use, and a node has to become empty.
TEST(a_node_of_another_user_is_given_back_as_a_whole) {
    for (const bool any_shares : {false, true}) {
        Site site({4, 4, 4});
        site.malleable(1, 2, {{0, 2}});  // its MIN stays on its node
        site.malleable(1, 8, {{1, 4}, {2, 4}});
        site.seen.jobs[1].user_id = 1;
        site.seen.nodes[0].owner = 0;
        site.seen.nodes[1].owner = site.seen.nodes[2].owner = 1;
        site.waits(1, 1, any_shares);
        site.seen.jobs[2].user_id = 1;
        ck_assert(site.giving() == Ids{2});
        site.seen.jobs[2].user_id = 2;
        ck_assert(site.giving() == Ids{2});
        site.seen.jobs[2].user_id = 0;
        ck_assert(site.giving().empty());  // the idle GPUs of its own node
        site.seen.jobs[1].intent->gpus_min = 8;
        site.seen.jobs[2].user_id = 2;
        ck_assert(site.giving().empty());
    }
}

// A job already asked for this one has not left yet: no other job is asked instead.
TEST(a_job_already_asked_adds_no_cost) {
    Site site({4, 4});
    site.malleable(1, 4, {{0, 4}});
    site.malleable(1, 2, {{1, 2}});
    site.add(2, {{1, 2}});
    ringrt::records::Intent intent = *site.seen.jobs[0].intent;
    intent.state = IntentState::asked;
    intent.target = 2;
    intent.asked_s = 4999;
    intent.why = "GaveToRigid";
    set_intent(site.seen.jobs[0], intent);
    site.waits(1, 1);
    ck_assert(site.giving() == Ids{1});
}

TEST(excess_gpus_of_a_lender_serve_the_next) {
    Lenders lenders(1);
    JobRecord record{.id = 1, .gpus_requested = 8, .gpus_on_node = {{0, 8}}};
    lenders.add({.record = &record, .intent = {.gpus_min = 1, .gpus_max = 8}}, false);
    using Cost = Lenders::Cost;
    ck_assert((lenders.cost(0, 1) == Cost{0, 1, 4}));
    ck_assert((lenders.cost(0, 5) == Cost{0, 1, 6}));
    lenders.take(0, 1);
    ck_assert((lenders.cost(0, 3) == Cost{}));
    ck_assert((lenders.cost(0, 4) == Cost{0, 1, 2}));
    lenders.take(0, 4);
    ck_assert((lenders.cost(0, 1) == Cost{}));
    ck_assert((lenders.cost(5, 1) == Cost{}));  // no such node
}

// ---- jobs that may be paused ------------------------------------------------------------------

TEST(pauses_come_after_all_that_is_borrowed) {
    Lenders lenders(1);
    JobRecord one{.id = 1, .gpus_requested = 2, .gpus_on_node = {{0, 2}}};
    JobRecord two{.id = 2, .gpus_requested = 4, .gpus_on_node = {{0, 4}}};
    lenders.add({.record = &one, .intent = {.gpus_min = 1, .gpus_max = 8}}, true);
    lenders.add({.record = &two, .intent = {.gpus_min = 2, .gpus_max = 8}}, true);
    using Cost = Lenders::Cost;
    ck_assert((lenders.cost(0, 1) == Cost{0, 1, 1}));
    ck_assert((lenders.cost(0, 3) == Cost{0, 2, 3}));
    ck_assert((lenders.cost(0, 4) == Cost{1, 3, 4}));
    ck_assert((lenders.cost(0, 5) == Cost{1, 3, 5}));
    ck_assert((lenders.cost(0, 6) == Cost{2, 4, 6}));
    lenders.take(0, 5);  // both at MIN, and the larger one paused
    ck_assert((lenders.cost(0, 1) == Cost{1, 1, 1}));
    lenders.remove({.record = &one});
    ck_assert((lenders.cost(0, 1) == Cost{}));
}

// Four jobs at MIN on one node. Two of them pause for two GPUs.
TEST(jobs_at_min_pause_for_a_rigid_job) {
    Site site({4});
    for (int n = 0; n < 4; ++n) site.malleable(1, 4, {{0, 1}});
    site.waits(2, 1);
    const auto paused = [&](Pausing pause) {
        const Plan plan = site.plan(pause);
        return std::pair(
            std::ranges::count(plan.targets, 0,
                               [](const Target &target) { return target.allotment.gpus; }),
            plan.pools.at(0).capacity.kept_for_rigid);
    };
    ck_assert(paused(Pausing::all) == std::pair(2L, 2));
    ck_assert(paused(Pausing::asked) == std::pair(0L, 0));
    for (JobRecord &job : site.seen.jobs)
        if (job.intent && job.id != 2) job.intent->pause = true;
    ck_assert(paused(Pausing::asked) == std::pair(2L, 2));
    ck_assert_int_eq(site.plan(Pausing::asked).targets.at(1).allotment.gpus, 1);
    ck_assert(paused(Pausing::never) == std::pair(0L, 0));
}

TEST(jobs_shrink_before_any_pauses) {
    Site site({4, 1});
    site.malleable(1, 2, {{0, 2}});
    site.malleable(1, 2, {{0, 2}});
    site.malleable(1, 1, {{1, 1}});
    site.waits(1, 1);
    const Plan plan = site.plan(Pausing::all);
    ck_assert_int_eq(plan.targets.at(2).allotment.gpus, 1);
    ck_assert_int_eq(plan.targets.at(0).allotment.gpus + plan.targets.at(1).allotment.gpus, 3);
}

// Two jobs of two GPUs on two nodes of four, and a rigid job that needs a whole node: the job that
// may not be paused does not move onto the GPUs of the other one.
TEST(a_paused_jobs_place_is_no_place_for_another) {
    for (const bool is_there : {false, true}) {
        Site site({4, 4});
        site.malleable(2, 2, {{0, 2}});
        site.add(2, {{1, 2}});
        site.waits(4, 1);
        if (is_there) {
            site.malleable(2, 2, {{1, 2}});
            site.seen.jobs.back().intent->pause = true;
        }
        const Plan plan = site.plan(Pausing::asked);
        ck_assert_uint_eq(plan.targets.at(0).moves_for, is_there ? 0 : 3);
    }
}

// A job of MIN needs half of its GPUs of a node that is powered down, and half of one that another
// job has filled. Slurm powers the node up only when the job can start.
TEST(a_min_on_sleeping_nodes_gets_borrowed_gpus_back) {
    struct {
        int min, nodes;  // of the pending job
        bool is_asleep;  // the second node; otherwise it does not exist for jobs
        bool is_sized;   // it requests its MIN
        Ids giving;
    } const cases[] = {
        {6, 2, true, true, {1}}, {6, 2, false, true, {}},
        {6, 2, true, false, {}}, {4, 1, true, true, {}},  // the sleeping node suffices
        {8, 2, true, true, {}},                           // the MIN of the first job is in the way
    };
    for (const auto &[min, nodes, is_asleep, is_sized, giving] : cases) {
        Site site({4, 4});
        site.seen.nodes[1].usable = false;
        site.seen.nodes[1].asleep = is_asleep;
        site.malleable(1, 4, {{0, 4}});
        JobRecord &waits = site.add(is_sized ? min : 2 * min, {});
        waits.pending_reason = PendingReason::resources;
        waits.nodes_requested = nodes;
        set_intent(waits, {.gpus_min = min,
                           .gpus_max = 2 * min,
                           .state = IntentState::released,
                           .target = waits.gpus_requested,
                           .run = 0});
        const Ids given = site.giving();
        const bool is_right = std::ranges::includes(given, giving) &&
                              std::ranges::count(given, 1U) == std::ranges::count(giving, 1U);
        ck_assert_msg(is_right, "MIN %d on %d nodes, asleep %d, sized %d", min, nodes, is_asleep,
                      is_sized);
    }
}

// Nodes that are up suffice: the policy gives the job its MIN, and the sleeping node is left alone.
TEST(a_min_on_nodes_that_are_up_wakes_no_node) {
    Site site({4, 4, 8});
    site.seen.nodes[2].usable = false;
    site.seen.nodes[2].asleep = true;
    site.malleable(1, 8, {{0, 4}, {1, 4}});
    JobRecord &waits = site.add(2, {});
    waits.pending_reason = PendingReason::resources;
    set_intent(
        waits,
        {.gpus_min = 2, .gpus_max = 2, .state = IntentState::released, .target = 2, .run = 0});
    const Options options{.mode = Mode::act};
    const auto jobs = malleable_jobs(site.seen, options);
    const Plan plan = decide(site.seen, jobs, {}, options);
    ck_assert_int_eq(plan.pools[0].asleep_on(2), 8);
    ck_assert_int_eq(plan.targets.at(0).allotment.gpus, 4);
    ck_assert_int_eq(plan.targets.at(1).allotment.gpus, 2);
}

int main() { return ringrt::test::run_all("lenders"); }
