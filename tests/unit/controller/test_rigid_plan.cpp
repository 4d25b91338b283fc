// SPDX-License-Identifier: BSD-3-Clause
// A rigid job that needs whole nodes starts when it would in a cluster without borrowed GPUs: jobs
// whose MIN is in its way move.
#include <random>

#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/explain.h"
#include "slurm_plugin/controller/lent_exclusions.h"
#include "slurm_plugin/controller/rigid_plan.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::policy::NodeShare;

namespace {

bool runs(const World &world, uint32_t id) {
    return world.cluster.job(id).phase == JobPhase::running;
}

// Three nodes: rigid jobs hold half of n0 and, for a minute, all of n1. The job on n2 moves to n0
// when a rigid job of two nodes is submitted.
uint32_t one_that_will_move(World &world) {
    FakeCluster &cluster = world.cluster;
    cluster.set_time_limit(cluster.submit_rigid(2, 400), 600);
    world.run(1);
    cluster.set_time_limit(cluster.submit_rigid(4, 58), 60);
    world.run(1);
    const uint32_t id = cluster.submit_malleable(1, 4, {.steps = 2000});
    world.run(20);
    return id;
}

// A pool of nodes of four GPUs, and the jobs on them.
struct Site {
    Observation seen;
    Pool pool;
    std::vector<MalleableJob> jobs;

    explicit Site(int nodes) {
        seen.now_s = 5000;
        for (int i = 0; i < nodes; ++i) seen.nodes.push_back({.name = "n", .gpus = 4});
        pool.has_node.assign(seen.nodes.size(), true);
        pool.capacity.gpus_per_node = 4;
        seen.jobs.reserve(100);
        jobs.reserve(100);
    }
    JobRecord &add(int gpus, int node) {
        seen.jobs.push_back({.id = static_cast<uint32_t>(seen.jobs.size() + 1),
                             .phase = JobPhase::running,
                             .start_s = 4000,
                             .gpus_requested = gpus,
                             .gpus_on_node = {{node, gpus}}});
        return seen.jobs.back();
    }
    void rigid(int gpus, int node, int64_t limit_s) { add(gpus, node).time_limit_s = limit_s; }
    void malleable(int min, int gpus, int node) {
        JobRecord &record = add(gpus, node);
        set_intent(record, {.gpus_min = min,
                            .gpus_max = 4,
                            .state = ringrt::records::IntentState::running,
                            .gpus = gpus,
                            .run = 0});
        jobs.push_back({.record = &record,
                        .intent = *record.intent,
                        .stage = Stage::running,
                        .may_move = true});
    }
    // With all borrowed GPUs returned.
    [[nodiscard]] std::optional<RigidPlan> plan(int gpus, int nodes, int promised = 0) const {
        std::vector<int> room(seen.nodes.size(), 4);
        std::vector<Movable> movable;
        for (const JobRecord &job : seen.jobs)
            if (!job.intent) room[job.gpus_on_node[0].first] -= job.gpus_requested;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const int node = jobs[i].record->gpus_on_node[0].first;
            room[node] -= jobs[i].intent.gpus_min;
            movable.push_back({i, &jobs[i], {{node, jobs[i].intent.gpus_min}}});
        }
        Pool now = pool;
        now.free.node_gpus.assign(seen.nodes.size(), 4);
        for (const JobRecord &job : seen.jobs)
            now.free.node_gpus[job.gpus_on_node[0].first] -= job.gpus_requested;
        const NodeRoom node_room(seen);
        return RigidPlanner(seen, now, node_room, {})
            .plan({.gpus_requested = gpus, .nodes_requested = nodes}, room, movable, restarting,
                  promised);
    }
    std::vector<const MalleableJob *> restarting;
};

std::vector<int> nodes_of(const RigidPlan &plan) {
    std::vector<int> out;
    for (const RigidPlan::Share &share : plan.shares) out.push_back(share.node);
    std::ranges::sort(out);
    return out;
}

}  // namespace

TEST(two_of_four_jobs_move_for_a_job_of_two_nodes) {
    World world({4, 4, 4, 4});
    std::vector<uint32_t> ids;
    for (int i = 0; i < 4; ++i)
        ids.push_back(world.cluster.submit_malleable(1, 4, {.steps = 2000}));
    world.run(25);
    for (const uint32_t id : ids) ck_assert_int_eq(world.cluster.job(id).gpus_requested, 4);
    const uint32_t rigid = world.cluster.submit_rigid(8, 30, 1, 2);
    const double wait = world.run_until([&] { return runs(world, rigid); }, 60);
    ck_assert_msg(wait >= 0 && wait < 25, "%g s\n%s", wait, world.cluster.story().c_str());
    world.run(10);
    int held = 0;
    for (const uint32_t id : ids) {
        ck_assert_msg(runs(world, id), "%s", world.cluster.story().c_str());
        held += world.cluster.job(id).gpus_requested;
    }
    ck_assert_msg(held == 8, "%d\n%s", held, world.cluster.story().c_str());
    // They grow again, and no lent list remains at a job that was pending since.
    ck_assert(world.run_until(
                  [&] {
                      return std::ranges::all_of(ids, [&](uint32_t id) {
                          return world.cluster.job(id).gpus_requested == 4;
                      });
                  },
                  200) >= 0);
    world.run(5);
    for (const uint32_t id : ids)
        ck_assert_msg(world.cluster.job(id).excluded_nodes.empty(), "%s",
                      world.cluster.story().c_str());
    expect_all_finish(world, 3000, "move");
}

// Rigid jobs hold half of n0 and all of n1; n1 becomes free in a while. One of the two jobs on n2
// and n3 moves to n0 meanwhile, and is kept off the plan's two nodes.
TEST(a_place_is_cleared_before_all_of_it_is_free) {
    World world({4, 4, 4, 4});
    FakeCluster &cluster = world.cluster;
    cluster.set_time_limit(cluster.submit_rigid(2, 300), 600);
    world.run(1);
    const uint32_t whole = cluster.submit_rigid(4, 55);
    cluster.set_time_limit(whole, 60);
    world.run(1);
    const uint32_t ids[] = {cluster.submit_malleable(1, 4, {.steps = 2000}),
                            cluster.submit_malleable(1, 4, {.steps = 2000})};
    world.run(20);
    const uint32_t wide = cluster.submit_rigid(8, 30, 1, 2);
    uint32_t moved = 0;
    const auto has_moved = [&] {
        for (const uint32_t id : ids)
            if (!cluster.job(id).excluded_nodes.empty() && runs(world, id)) moved = id;
        return moved != 0;
    };
    ck_assert_msg(world.run_until(has_moved, 15) >= 0, "%s", cluster.story().c_str());
    ck_assert(runs(world, whole) && !runs(world, wide));
    ck_assert_int_eq(cluster.job(moved).gpus_on_node.at(0).first, 0);
    ck_assert_int_eq(cluster.count(EventKind::asked), 1);
    // It starts as soon as the rigid job on its planned nodes has ended.
    ck_assert(world.run_until([&] { return cluster.job(whole).phase == JobPhase::finished; }, 60) >=
              0);
    ck_assert(world.run_until([&] { return runs(world, wide); }, 2) >= 0);
    ck_assert(world.run_until([&] { return cluster.job(moved).gpus_requested == 4; }, 90) >= 0);
    ck_assert(cluster.job(moved).excluded_nodes.empty());
    expect_all_finish(world, 3000, "clear");
}

// Its user requeues it: it is pending like any other job, without a list.
TEST(a_lent_list_is_taken_back_when_the_job_is_pending_again) {
    for (const bool is_held : {false, true}) {
        World world({4, 4, 4});
        FakeCluster &cluster = world.cluster;
        const uint32_t id = one_that_will_move(world);
        (void)cluster.submit_rigid(8, 100, 1, 2);
        ck_assert(world.run_until(
                      [&] { return runs(world, id) && !cluster.job(id).excluded_nodes.empty(); },
                      30) >= 0);
        world.run(5);
        cluster.requeue(id);
        if (is_held) world.run_until([&] { return !runs(world, id); }, 20);
        if (is_held) cluster.hold(id, true);
        world.run(is_held ? 5 : 70);
        ck_assert_msg(cluster.job(id).excluded_nodes.empty(), "%d %s", is_held,
                      cluster.story().c_str());
    }
}

// Another job takes its new place in the gap. Then the rigid job has no place either, so the job
// returns at once to its old nodes, and is not asked again soon.
TEST(a_job_without_another_place_returns) {
    Options options = quick_options();
    options.back_off_s = 40;
    World world({4, 4, 4}, options);
    FakeCluster &cluster = world.cluster;
    const uint32_t id = one_that_will_move(world);
    (void)cluster.submit_rigid(8, 100, 1, 2);
    ck_assert(world.run_until([&] { return !runs(world, id); }, 30) >= 0);
    cluster.set_time_limit(cluster.submit_rigid(2, 12, 100), 600);
    ck_assert_msg(world.run_until([&] { return runs(world, id); }, 4) >= 0, "%s",
                  cluster.story().c_str());
    ck_assert(cluster.job(id).excluded_nodes.empty());
    world.run(18);
    const auto moves = std::ranges::count_if(cluster.events, [](const Event &event) {
        return event.kind == EventKind::asked && event.reason == "gave_to_rigid";
    });
    ck_assert_msg(moves == 1, "%s", cluster.story().c_str());
}

// One node has free GPUs, and its job is in the way: another job must give GPUs before that one can
// move.
TEST(giving_for_a_move_counts_as_giving_for_the_rigid_job) {
    World world({4, 4});
    FakeCluster &cluster = world.cluster;
    const uint32_t a = cluster.submit_malleable(1, 2, {.steps = 2000});
    const uint32_t b = cluster.submit_malleable(1, 4, {.steps = 2000});
    world.run(20);
    ck_assert_int_eq(cluster.job(a).gpus_requested + cluster.job(b).gpus_requested, 6);
    const uint32_t rigid = cluster.submit_rigid(4, 30);
    ck_assert_msg(world.run_until([&] { return runs(world, rigid); }, 8) >= 0, "%s",
                  cluster.story().c_str());
    world.run(8);
    ck_assert_msg(runs(world, a) && runs(world, b), "%s", cluster.story().c_str());
}

// One node never becomes free as a whole, because the job's MIN has no other place.
TEST(no_job_is_asked_if_that_is_not_enough) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(2, 4, {.steps = 1000});
    const uint32_t b = world.cluster.submit_malleable(2, 4, {.steps = 1000});
    world.run(25);
    const uint32_t rigid = world.cluster.submit_rigid(8, 30, 1, 2);
    world.run(30);
    ck_assert(runs(world, a) && runs(world, b) && !runs(world, rigid));
    ck_assert_msg(world.cluster.count(EventKind::asked) == 0, "%s", world.cluster.story().c_str());
}

TEST(a_plan_takes_the_nodes_where_rigid_jobs_end_first) {
    Site site(4);
    site.rigid(4, 0, 9000);
    site.rigid(2, 1, 2000);
    site.malleable(1, 2, 1);
    site.rigid(4, 2, 1500);
    site.malleable(1, 4, 3);
    // n2 is free in 500 s. n3 needs only its job to move, but for two nodes n1 or n0 would have to
    // take two jobs' MIN.
    auto plan = site.plan(4, 1);
    ck_assert(plan && nodes_of(*plan) == std::vector<int>{3} && plan->moves.size() == 1);
    ck_assert(plan->moves[0].to == (std::vector<NodeShare>{{1, 1}}));
    plan = site.plan(8, 2);
    ck_assert(plan && nodes_of(*plan) == (std::vector<int>{2, 3}));
    for (const RigidPlan::Share &share : plan->shares)
        ck_assert_int_eq(share.freed, share.node == 2 ? 4 : 0);
    // The only place left is promised to another job.
    ck_assert(!site.plan(4, 1, 2) || site.plan(4, 1, 2)->moves.empty());
    ck_assert(!site.plan(20, 5));
}

TEST(a_job_that_need_not_move_stays) {
    Site site(3);
    site.malleable(1, 4, 0);
    site.malleable(1, 4, 1);
    site.rigid(4, 2, 1030);  // ends in half the time that a move counts
    const auto plan = site.plan(4, 1);
    ck_assert(plan && nodes_of(*plan) == std::vector<int>{2} && plan->moves.empty());
}

TEST(a_restarting_job_keeps_a_place_for_its_min) {
    Site site(3), fuller(2);
    JobRecord record{.id = 50};
    const MalleableJob job{.record = &record, .intent = {.gpus_min = 1, .gpus_max = 4}};
    for (Site *each : {&site, &fuller}) {
        each->rigid(4, 0, 9000);
        each->rigid(4, 1, 1500);
        each->restarting = {&job};
    }
    const auto plan = site.plan(8, 2);  // n1 and n2; n0 is not free yet
    ck_assert(!plan);
    site.malleable(1, 4, 2);
    ck_assert(!site.plan(8, 2));
    site.restarting.clear();
    site.jobs.clear();
    ck_assert(site.plan(8, 2) && site.plan(8, 2)->moves.empty());
    ck_assert(!fuller.plan(4, 1));
}

// Two rigid jobs: one that the job shrinks for, and behind it one that would need all nodes, also
// the one of the job's MIN. The second does not take the place of the job while it restarts.
TEST(a_job_that_shrinks_keeps_its_size_before_a_rigid_job_of_all_nodes) {
    World world({4, 4, 4, 4});
    FakeCluster &cluster = world.cluster;
    const uint32_t id = cluster.submit_malleable(1, 16, {.steps = 4000});
    ck_assert(world.run_until([&] { return cluster.job(id).gpus_requested == 16; }, 60) >= 0);
    const uint32_t big = cluster.submit_rigid(16, 10, 1, 4);
    world.run(10);
    ck_assert(runs(world, id) && !runs(world, big));
    const uint32_t guest = cluster.submit_rigid(8, 40, 2, 2);
    cluster.set_time_limit(guest, 60);
    ck_assert(world.run_until([&] { return runs(world, guest); }, 30) >= 0);
    world.run(20);
    ck_assert_msg(runs(world, id) && cluster.job(id).gpus_requested == 8, "%s",
                  cluster.story().c_str());
    ck_assert_msg(cluster.count(EventKind::asked) == 1, "%s", cluster.story().c_str());
    ck_assert(!runs(world, big));
}

TEST(a_job_that_is_to_move_names_the_rigid_job) {
    Site site(3);
    site.malleable(1, 4, 0);
    site.malleable(1, 4, 1);
    site.rigid(3, 2, 90000);
    JobRecord &waits = site.add(4, 0);
    waits.phase = JobPhase::pending;
    waits.pending_reason = PendingReason::resources;
    waits.gpus_on_node.clear();
    const Options options{.mode = Mode::act, .interval_s = 30};
    const std::map<uint32_t, JobTracker> none;
    const Plan plan = decide(site.seen, site.jobs, none, options);
    const auto said = explain(site.seen, site.jobs, plan, none, {}, options);
    // One job moves to the GPU that is free on the rigid job's node.
    ck_assert_uint_eq(plan.targets.at(1).moves_for, waits.id);
    EXPECT_TEXT(said.at(1).text,
                "has 4 GPUs, target 1 GPU on other nodes: job 4 waits for its nodes");
    ck_assert_uint_eq(plan.targets.at(0).moves_for, 0);
}

// Two partitions share three of four nodes. The jobs may not use the large node outside theirs, so
// they move to the small one, each with its MIN. A job there gives back what it has borrowed.
TEST(jobs_move_to_nodes_that_they_may_use) {
    for (const bool is_one_there : {false, true}) {
        Site site(4);
        for (NodeRecord &node : site.seen.nodes) node.partitions = {"large"};
        for (int i = 0; i < 3; ++i) site.seen.nodes[i].partitions = {"main", "large"};
        site.seen.nodes[2].gpus = 2;
        site.malleable(1, 4, 0);
        site.malleable(1, is_one_there ? 2 : 4, is_one_there ? 2 : 1);
        JobRecord &waits = site.add(8, 0);
        waits.phase = JobPhase::pending;
        waits.pending_reason = PendingReason::resources;
        waits.nodes_requested = waits.nodes_most = 2;
        waits.gpus_on_node.clear();
        for (JobRecord &job : site.seen.jobs) job.partition = "main";
        const Plan plan = decide(site.seen, site.jobs, {}, {.mode = Mode::act});
        for (int i = 0; i < 2; ++i) {
            const Target &target = plan.targets.at(i);
            const bool moves = i == 0 || !is_one_there;
            ck_assert_uint_eq(target.moves_for, moves ? waits.id : 0);
            ck_assert_int_eq(target.allotment.gpus, 1);
            // The place of the job that gives is not free yet.
            ck_assert_int_eq(target.placeable_gpus, moves && is_one_there ? 0 : 1);
            ck_assert(target.allotment.reason == ringrt::policy::Reason::gave_to_rigid);
        }
    }
}

// Random plans: the nodes in a plan have the GPUs, and each job that moves gets a place of its own.
TEST(plans_take_only_available_gpus) {
    std::mt19937_64 random(7);
    const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
    int planned = 0, moved = 0;
    for (int round = 0; round < 3000; ++round) {
        const int count = 2 + upto(6);
        Site site(count);
        for (int node = 0; node < count; ++node) {
            int left = 4;
            if (upto(1) != 0) left -= 4 - upto(3), site.rigid(4 - left, node, 100 + upto(4000));
            while (left > 0 && upto(2) != 0) {
                const int gpus = 1 + upto(left - 1);
                site.malleable(1 + upto(gpus - 1), gpus, node);
                left -= gpus;
            }
        }
        const int nodes = 1 + upto(count - 1), gpus = nodes + upto(3 * nodes);
        const auto plan = site.plan(gpus, nodes, upto(2));
        if (!plan) continue;
        ++planned;
        ck_assert_int_eq(static_cast<int>(plan->shares.size()), nodes);
        std::vector<int> used(count);
        for (const RigidPlan::Share &share : plan->shares)
            used[share.node] += share.gpus - share.freed;
        for (const JobRecord &job : site.seen.jobs)
            if (!job.intent) used[job.gpus_on_node[0].first] += job.gpus_requested;
        for (std::size_t i = 0; i < site.jobs.size(); ++i) {
            const auto move = std::ranges::find(plan->moves, i, &RigidPlan::Move::movable);
            const int min = site.jobs[i].intent.gpus_min;
            moved += move != plan->moves.end();
            if (move == plan->moves.end())
                used[site.jobs[i].record->gpus_on_node[0].first] += min;
            else
                for (const auto &[node, here] : move->to) used[node] += here;
        }
        for (const int gpus_used : used) ck_assert_int_le(gpus_used, 4);
    }
    ck_assert_int_gt(planned, 500);
    ck_assert_int_gt(moved, 100);
}

TEST(a_lent_list_is_distinguished_from_the_users_own) {
    const std::vector<NodeRecord> nodes{{.name = "a"}, {.name = "b"}, {.name = "c"}};
    JobRecord job{.excluded_nodes = {2, 0}};
    job.intent = ringrt::records::Intent{.exclusions_checksum = checksum_of({0, 2}, nodes)};
    take_out_lent_list(job, nodes);
    ck_assert(!job.lent_exclusions.empty() && job.excluded_nodes.empty() && !names_nodes(job));
    job.lent_exclusions.clear();
    job.excluded_nodes = {0};  // its user has changed it meanwhile
    take_out_lent_list(job, nodes);
    ck_assert(job.lent_exclusions.empty() && names_nodes(job));
    ck_assert_uint_eq(checksum_of({}, nodes), 0);
    // Added nodes change nothing.
    std::vector<NodeRecord> more = nodes;
    more.insert(more.begin(), {.name = "new"});
    ck_assert_uint_eq(checksum_of({1, 3}, more), checksum_of({0, 2}, nodes));
}

int main() { return run_all("rigid_plan"); }
