// SPDX-License-Identifier: BSD-3-Clause
// Nodes with two GPU types: jobs grow onto their own type only, rigid jobs get their own type back,
// and jobs of any type get both of a node.
#include "slurm_plugin/controller/base_shrink.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/controller/reach.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"

using namespace ringrt::controller;
using namespace ringrt::test;

namespace {

// Nodes with a100 and h100. The a100 of node n has index n, its h100 the index nodes + n.
struct Mixed {
    Observation seen;

    Mixed(int nodes, int a100, int h100, int cpus = 64) {
        seen.now_s = 5000;
        for (int i = 0; i < nodes; ++i)
            seen.nodes.push_back({.name = "n" + std::to_string(i),
                                  .gpus = a100 + h100,
                                  .cpus = cpus,
                                  .cpus_free = cpus,
                                  .partitions = {"main"},
                                  .gpu_types = {"a100", "h100"}});
        for (int i = 0; i < nodes; ++i)
            split_by_type(seen.nodes, static_cast<std::size_t>(i),
                          {{"a100", a100}, {"h100", h100}});
    }

    JobRecord &add(const std::string &type, int gpus) {
        return seen.jobs.emplace_back(JobRecord{.id = static_cast<uint32_t>(seen.jobs.size() + 1),
                                                .pending_reason = PendingReason::resources,
                                                .partition = "main",
                                                .submit_s = 4000,
                                                .priority = 10,
                                                .gpus_requested = gpus,
                                                .cpus_requested = gpus,
                                                .gpu_type = type});
    }
    JobRecord &run(const std::string &type, const std::vector<std::pair<int, int>> &held) {
        JobRecord &job = add(type, 0);
        for (const auto &[part, gpus] : held) {
            job.gpus_requested += gpus;
            seen.nodes[static_cast<std::size_t>(node_of(seen.nodes, part))].cpus_free -= gpus;
        }
        job.cpus_requested = job.gpus_requested;
        job.phase = JobPhase::running;
        job.pending_reason = PendingReason::none;
        job.start_s = 4000;
        job.gpus_on_node = held;
        return job;
    }
    void malleable(const std::string &type, int max, const std::vector<std::pair<int, int>> &held) {
        JobRecord &job = run(type, held);
        set_intent(job, {.gpus_min = 1,
                         .gpus_max = max,
                         .state = ringrt::records::IntentState::running,
                         .gpus = job.gpus_requested,
                         .run = 0});
    }
    [[nodiscard]] Plan plan() const {
        const Options options{.settle_s = 1, .payback = 0};
        return decide(seen, malleable_jobs(seen, options), {}, options);
    }
    // Of the first malleable job.
    [[nodiscard]] int target() const { return plan().targets.at(0).allotment.gpus; }
};

}  // namespace

TEST(a_node_has_a_record_for_each_type) {
    std::vector<NodeRecord> nodes{{.name = "n0", .gpus = 4, .gpu_types = {"a100"}},
                                  {.name = "n1", .gpus = 9, .cpus = 8, .features = {"ib"}}};
    split_by_type(nodes, 0, {{"a100", 4}});
    ck_assert_uint_eq(nodes.size(), 2);
    split_by_type(nodes, 1, {{"1g", 6}, {"2g", 2}, {"7g", 1}});
    ck_assert_uint_eq(nodes.size(), 4);
    ck_assert(nodes[1].gpus == 6 && nodes[2].gpus == 2 && nodes[3].gpus == 1);
    ck_assert(nodes[3].name == "n1" && nodes[3].gpu_types == std::vector<std::string>{"7g"});
    ck_assert(nodes[3].features == nodes[1].features && nodes[3].cpus == 8);
    ck_assert(all_parts(nodes, 3) == (std::vector<int>{1, 2, 3}) &&
              all_parts(nodes, 0).size() == 1);
    ck_assert(node_of(nodes, 3) == 1 && node_of(nodes, 0) == 0 && node_of(nodes, 9) == 9);
    const std::vector<std::pair<int, int>> held{{2, 1}, {0, 4}, {3, 1}}, whole{{1, 2}, {0, 4}};
    ck_assert(on_nodes(held, nodes) == whole);
}

// What goes to Slurm names nodes: the first node has both of its parts.
TEST(a_base_keeps_whole_nodes) {
    const Mixed site(2, 2, 2);
    JobRecord record;
    record.gpus_on_node = {{0, 2}, {1, 2}, {2, 1}};
    ck_assert(first_nodes(record, 3, site.seen.nodes) == std::vector<int>{0});
    ck_assert(first_nodes(record, 2, site.seen.nodes).empty());
}

TEST(a_job_grows_onto_its_own_type_only) {
    Mixed site(3, 5, 3);
    site.malleable("a100", 16, {{0, 4}});
    ck_assert_int_eq(site.target(), 8);  // of 15; 24 of both types
    site.seen.jobs[0].gpu_type = "h100";
    site.seen.jobs[0].gpus_on_node = {{3, 2}, {4, 2}};
    ck_assert_int_eq(site.target(), 4);  // of 9: three nodes cannot share eight
    site.seen.jobs[0].gpu_type.clear();
    ck_assert_int_eq(site.target(), 16);
    // Nodes that its user excluded, by their own index.
    site.seen.jobs[0].excluded_nodes = {1, 2};
    ck_assert_int_eq(site.target(), 8);
}

TEST(a_rigid_job_gets_its_own_type_back) {
    Mixed site(2, 4, 4);
    site.malleable("a100", 8, {{0, 4}, {1, 4}});
    JobRecord &waits = site.add("a100", 4);
    ck_assert_int_eq(site.target(), 4);  // though eight h100 are idle
    waits.gpu_type = "h100";
    ck_assert_int_eq(site.target(), 8);  // it starts with those
    site.run("h100", {{2, 4}, {3, 4}});
    ck_assert_int_eq(site.target(), 8);  // it has to wait for others
    site.seen.jobs[1].gpu_type.clear();
    ck_assert_int_eq(site.target(), 4);
}

// On one node: what is idle of one type, and the rest of the other.
TEST(a_rigid_job_of_any_type_gets_both_of_a_node) {
    for (const auto &[gpus, expected] : {std::pair{4, 8}, {5, 4}, {7, 4}, {8, 4}, {9, 8}}) {
        Mixed site(2, 4, 4);
        site.malleable("a100", 8, {{0, 4}, {1, 4}});
        JobRecord &waits = site.add("", gpus);
        waits.nodes_most = 1;
        ck_assert_msg(site.target() == expected, "%d GPUs: %d", gpus, site.target());
        if (gpus != 8) continue;  // now all of n0 is idle
        site.seen.jobs[0].gpus_on_node = {{1, 4}};
        site.seen.jobs[0].gpus_requested = 4;
        ck_assert_int_eq(site.plan().pools[0].capacity.kept_for_rigid, 8);
    }
}

// Both types of one node are lent to jobs of one type each. A job that requests several types at
// once gets of each what it lacks, on the same nodes.
TEST(a_rigid_job_of_several_types_gets_each_back) {
    using Types = std::vector<TypedGpus>;
    struct {
        Types types;
        int nodes;
        bool any_shares;
        int a100, h100;  // that the jobs keep, of 8 and 8
    } const cases[] = {
        {{{"a100", 1}, {"h100", 1}}, 1, false, 4, 4},
        {{{"a100", 4}, {"h100", 4}}, 1, false, 4, 4},
        {{{"a100", 2}, {"h100", 2}}, 2, false, 2, 2},  // of three on each
        {{{"a100", 6}, {"h100", 4}}, 1, false, 8, 8},  // no node has six
        {{{"a100", 6}, {"h100", 4}}, 1, true, 2, 2},   // on both nodes, three and two
        {{{"a100", 1}, {"b200", 1}}, 1, false, 8, 8},
        {{{"a100", 7}, {"h100", 1}}, 1, true, 8, 8},  // the MIN of one job is in the way
    };
    for (const auto &[types, nodes, any_shares, a100, h100] : cases) {
        Mixed site(2, 4, 4);
        site.malleable("a100", 8, {{0, 4}, {1, 4}});
        site.malleable("h100", 8, {{2, 4}, {3, 4}});
        JobRecord &waits = site.add("", 0);
        waits.gpus_of_types = types;
        for (const TypedGpus &one : types) waits.gpus_requested += one.second;
        waits.nodes_requested = nodes;
        waits.any_shares = any_shares;
        const Plan plan = site.plan();
        const int kept[] = {plan.targets.at(0).allotment.gpus, plan.targets.at(1).allotment.gpus};
        const std::string what = std::to_string(types[0].second) + " " + types[1].first + " " +
                                 std::to_string(types[1].second);
        ck_assert_msg(kept[0] == a100 && kept[1] == h100, "%s: keep %d and %d", what.c_str(),
                      kept[0], kept[1]);
        ck_assert_msg(plan.pools[0].unserved.empty() == (a100 < 8), "%s", what.c_str());
    }
}

// One type is idle: only GPUs of the other are returned. A node that lacks a type is of no use.
TEST(a_rigid_job_of_several_types_uses_idle_ones) {
    Mixed site(2, 4, 4);
    site.malleable("a100", 8, {{0, 4}, {1, 4}});
    JobRecord &waits = site.add("", 5);
    waits.gpus_of_types = {{"a100", 1}, {"h100", 4}};
    const Plan plan = site.plan();
    ck_assert_int_eq(plan.targets.at(0).allotment.gpus, 4);
    ck_assert_int_eq(plan.pools[0].capacity.kept_for_rigid, 5);
    ck_assert(may_use(waits, site.seen.nodes[3], 3));
    waits.gpus_of_types = {{"a100", 1}, {"b200", 1}};
    ck_assert(!may_use(waits, site.seen.nodes[3], 3));
    Mixed plain(1, 4, 4);
    plain.seen.nodes.push_back({.name = "n9", .gpus = 4, .partitions = {"main"}});
    plain.seen.nodes.back().gpu_types = {"a100"};
    plain.malleable("a100", 8, {{0, 4}, {2, 4}});
    JobRecord &other = plain.add("", 2);
    other.gpus_of_types = {{"a100", 1}, {"h100", 1}};
    const Plan on_mixed = plain.plan();
    ck_assert_int_eq(on_mixed.pools[0].capacity.node_gpus[2], 4);
    ck_assert_int_eq(on_mixed.pools[0].capacity.node_gpus[0], 3);
}

// It has idle GPUs of both types, but not their CPUs.
TEST(a_rigid_job_of_several_types_gets_cpus_back) {
    for (const int cpus : {4, 6}) {
        Mixed site(1, 4, 4, 8);
        site.malleable("a100", 4, {{0, 4}});
        JobRecord &waits = site.add("", 1);
        waits.gpus_of_types = {{"h100", 1}};
        site.seen.nodes.push_back(site.seen.nodes[1]);  // a third type
        site.seen.nodes[2].gpu_types = {"b200"};
        site.seen.nodes[0].parts.push_back(2);
        waits.gpus_of_types.emplace_back("b200", 1);
        waits.gpus_requested = 2;
        waits.cpus_requested = cpus;
        ck_assert_int_eq(site.target(), cpus == 4 ? 4 : 2);
    }
}

TEST(cpus_come_back_from_jobs_of_every_type) {
    for (const bool is_on_h100 : {false, true})
        for (const std::string type : {"", "a100", "none"}) {
            Mixed site(1, 4, 4, 8);
            site.malleable(is_on_h100 ? "h100" : "a100", 4, {{is_on_h100 ? 1 : 0, 4}});
            JobRecord &waits = site.add(type == "none" ? "" : type, type == "none" ? 0 : 1);
            waits.nodes_most = 1;
            waits.cpus_requested = 4;
            const bool has_its_type = type == "a100" && !is_on_h100;
            ck_assert_int_eq(site.target(), has_its_type ? 2 : 4);
            waits.cpus_requested = 6;  // four are idle
            ck_assert_int_eq(site.target(), 2);
            if (type != "none") continue;
            waits.cpus_requested = 8;  // the job keeps its MIN
            ck_assert_int_eq(site.target(), 4);
        }
}

// Four GPUs of one node, of both types; not two of each node.
TEST(a_job_of_any_type_is_placed_on_whole_nodes) {
    for (const bool is_split : {false, true}) {
        Mixed site(3, 2, 2);
        site.run("", is_split ? std::vector<std::pair<int, int>>{{0, 2}, {4, 2}}
                              : std::vector<std::pair<int, int>>{{0, 2}, {3, 2}});
        site.run("", {{5, 2}});
        site.malleable("a100", 2, {{2, 2}});  // so the policy sees parts
        JobRecord &job = site.add("", 1);
        set_intent(job, {.gpus_min = 1, .gpus_max = 4, .first_gpus = 4});
        const Plan plan = site.plan();
        ck_assert_int_eq(plan.targets.at(1).placeable_gpus, is_split ? 2 : 4);
        ck_assert_int_eq(reach_of(site.seen, plan.pools[0], job, {}).gpus_per_node, 4);
    }
}

int main() { return run_all("node_parts"); }
