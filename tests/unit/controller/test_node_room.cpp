// SPDX-License-Identifier: BSD-3-Clause
// Rigid jobs that lack CPUs, memory or whole nodes get them back from malleable jobs, and idle GPUs
// without CPUs are no capacity.
#include <algorithm>
#include <random>

#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/node_room.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"

using namespace ringrt::controller;
using namespace ringrt::test;

namespace {

constexpr int kNodeGpus = 4, kNodeCpus = 16;
constexpr int64_t kNodeMb = 16'000;

// Nodes of four GPUs, 16 CPUs and 16 GB, and the jobs on them.
struct Site {
    Observation seen;
    std::vector<MalleableJob> jobs;

    explicit Site(int nodes) {
        seen.now_s = 5000;
        for (int i = 0; i < nodes; ++i)
            seen.nodes.push_back({.name = "n",
                                  .gpus = kNodeGpus,
                                  .cpus = kNodeCpus,
                                  .cpus_free = kNodeCpus,
                                  .mb = kNodeMb,
                                  .mb_free = kNodeMb});
        seen.jobs.reserve(100);
        jobs.reserve(100);
    }

    JobRecord &add(const std::vector<std::pair<int, int>> &gpus_on_node, int cpus_per_gpu) {
        JobRecord job{.id = static_cast<uint32_t>(seen.jobs.size() + 1),
                      .phase = JobPhase::running,
                      .start_s = 4000,
                      .cpus_per_task = cpus_per_gpu,
                      .memory = {.per = MemoryRequest::Per::gpu, .mb = 1000},
                      .gpus_on_node = gpus_on_node};
        for (const auto &[node, gpus] : gpus_on_node) {
            job.gpus_requested += gpus;
            use(node, gpus * cpus_per_gpu, 1000 * gpus);
        }
        job.cpus_requested = job.gpus_requested * cpus_per_gpu;
        seen.jobs.push_back(job);
        return seen.jobs.back();
    }

    void use(int node, int cpus, int64_t mb) {
        seen.nodes[node].cpus_free -= cpus;
        seen.nodes[node].mb_free -= mb;
    }

    void malleable(int min, const std::vector<std::pair<int, int>> &gpus_on_node,
                   int cpus_per_gpu) {
        JobRecord &record = add(gpus_on_node, cpus_per_gpu);
        set_intent(record, {.gpus_min = min,
                            .gpus_max = 64,
                            .state = ringrt::records::IntentState::running,
                            .gpus = record.gpus_requested,
                            .run = 0});
        jobs.push_back({.record = &record,
                        .intent = *record.intent,
                        .stage = Stage::running,
                        .may_move = true});
    }

    JobRecord &waiting(int gpus, int nodes, int cpus) {
        JobRecord &job = add({}, 1);
        job.phase = JobPhase::pending;
        job.pending_reason = PendingReason::resources;
        job.gpus_requested = gpus;
        job.nodes_requested = nodes;
        job.cpus_requested = cpus;
        job.memory = {};
        return job;
    }

    [[nodiscard]] Plan plan() const {
        return decide(seen, jobs, {}, {.mode = Mode::act, .interval_s = 30});
    }
    // The size that the plan has for the first malleable job.
    [[nodiscard]] int target() const { return plan().targets.at(0).allotment.gpus; }
};

}  // namespace

TEST(a_job_without_gpus_gets_back_the_cpus_that_it_lacks) {
    // With 28 CPUs it needs 14 on the node where the job's MIN has 4.
    for (const auto &[cpus, nodes, kept] :
         {std::array{4, 1, 1}, {16, 1, 4}, {17, 2, 6}, {24, 2, 6}, {28, 2, 0}}) {
        Site site(2);
        site.malleable(1, {{0, 4}, {1, 4}}, 4);
        site.waiting(0, nodes, cpus);
        // A malleable job that could do with fewer CPUs changes nothing.
        set_intent(site.waiting(1, 1, 1), {.gpus_min = 1, .gpus_max = 1});
        const Plan plan = site.plan();
        ck_assert_msg(plan.pools[0].capacity.kept_for_rigid == kept, "%d CPUs: %d GPUs", cpus,
                      plan.pools[0].capacity.kept_for_rigid);
        const int left = 8 - kept;
        ck_assert_int_le(plan.targets[0].allotment.gpus, left);
        ck_assert(kept > 0 || plan.targets[0].allotment.gpus == 8);
    }
}

// MINs on every node hold CPUs: a job without GPUs needs one of them elsewhere. Stock Slurm would
// have packed them on one node.
TEST(a_job_moves_for_one_without_gpus) {
    struct Tried {
        int cpus, nodes, moving;  // CPUs in all
    };
    // Beside a MIN there are 12 CPUs. The fourth node has four GPUs of MINs, a rigid job and 4
    // CPUs.
    for (const auto &[cpus, nodes, moving] : {Tried{12, 1, 0},
                                              {13, 1, 1},
                                              {16, 1, 1},
                                              {24, 2, 0},
                                              {32, 2, 2},
                                              {48, 3, 0},
                                              {17, 1, 0}}) {
        Site site(4);
        for (int node = 0; node < 3; ++node) site.malleable(1, {{node, 4}}, 4);
        site.malleable(2, {{3, 2}}, 4);
        site.add({{3, 1}}, 4);
        JobRecord &waits = site.waiting(0, nodes, cpus);
        const Plan plan = site.plan();
        const Pool &pool = plan.pools[0];
        ck_assert_msg(static_cast<int>(pool.moving.size()) == moving, "%d CPUs: %d jobs move", cpus,
                      static_cast<int>(pool.moving.size()));
        ck_assert_int_eq(static_cast<int>(pool.reserved_nodes.size()), moving);
        for (const auto &[index, move] : pool.moving) {
            ck_assert_uint_eq(move.rigid, waits.id);
            ck_assert_int_ge(plan.targets[index].allotment.gpus, 1);
        }
        // A job that cannot be asked stays.
        for (MalleableJob &job : site.jobs) job.may_move = false;
        ck_assert(site.plan().pools[0].moving.empty());
    }
}

// The same with GPUs: one is free beside each MIN, and the CPUs are not.
TEST(a_job_moves_for_one_with_gpus_that_lacks_its_cpus) {
    struct Tried {
        int gpus, nodes, cpus, moving;  // in all
        bool any_shares = false;
    };
    for (const auto &[gpus, nodes, cpus, moving, any_shares] : {Tried{1, 1, 12, 0},
                                                                {1, 1, 13, 1},
                                                                {1, 1, 13, 1, true},
                                                                {2, 2, 32, 2},
                                                                {2, 1, 32, 2, true},
                                                                {3, 3, 48, 0},
                                                                {1, 1, 17, 0},
                                                                {1, 1, 17, 0, true}}) {
        Site site(4);
        for (int node = 0; node < 3; ++node) site.malleable(1, {{node, 4}}, 4);
        site.malleable(2, {{3, 2}}, 4);
        site.add({{3, 1}}, 4);
        JobRecord &waits = site.waiting(gpus, nodes, cpus);
        waits.any_shares = any_shares;
        const Plan plan = site.plan();
        const Pool &pool = plan.pools[0];
        ck_assert_msg(static_cast<int>(pool.moving.size()) == moving, "%d CPUs: %d jobs move", cpus,
                      static_cast<int>(pool.moving.size()));
        ck_assert(pool.reserved_nodes.size() == pool.moving.size());
        // If no job could make room, none gives a GPU either.
        const bool is_impossible = cpus == 48 || cpus == 17;
        ck_assert_msg(!is_impossible || pool.capacity.kept_for_rigid == 0, "%d CPUs: %d kept", cpus,
                      pool.capacity.kept_for_rigid);
        for (MalleableJob &job : site.jobs) job.may_move = false;
        ck_assert(site.plan().pools[0].moving.empty());
        ck_assert(moving == 0 || site.plan().pools[0].capacity.kept_for_rigid == 0);
    }
}

// A rigid job frees the CPUs when it ends: GPUs are kept only on a node where that is soon.
TEST(a_job_that_lacks_the_cpus_of_a_rigid_job_waits_for_its_end) {
    for (const bool is_soon : {false, true}) {
        Site site(2);
        for (int node = 0; node < 2; ++node) site.malleable(1, {{node, 3}}, 1);
        site.add({{0, 1}}, 12).time_limit_s = 200'000;
        site.add({{1, 1}}, 12).time_limit_s = is_soon ? 1500 : 200'000;
        site.waiting(2, 1, 10);
        const Plan plan = site.plan();
        ck_assert(plan.pools[0].moving.empty());
        const int left = is_soon ? 2 : 3;
        ck_assert(plan.pools[0].capacity.node_gpus == (std::vector<int>{3, left}));
    }
}

// A node whose GPUs can be shared in four parts, and the parts that jobs have of each.
void share(Site &site, int node, const std::string &kind, const std::vector<HeldShare> &held) {
    site.seen.nodes[node].gpu_shares = {{"shard", 4}, {"mps", 4}};
    JobRecord &job = site.add({}, 1);
    job.gpu_share = {.kind = kind, .amount = 1};
    job.shares_held = held;
}

TEST(a_job_with_shares_gets_back_one_gpu_on_a_node_that_has_no_room_for_them) {
    struct Tried {
        std::string kind;
        int used, wanted, expected;  // parts in use on one GPU of the first node; GPUs that stay
    };
    // The first node has another GPU in use, the second node cannot be shared.
    for (const auto &[kind, used, wanted, expected] : {Tried{"shard", 2, 2, 4},
                                                       {"shard", 2, 3, 2},
                                                       {"shard", 4, 4, 2},
                                                       {"shard", 4, 5, 4},
                                                       {"mps", 3, 1, 4},
                                                       {"mps", 3, 2, 4}}) {
        Site site(2);
        site.malleable(1, {{0, 3}, {1, 1}}, 1);
        site.add({{1, 3}}, 1);
        share(site, 0, kind, {{.node = 0, .gpu = 3, .amount = used}});
        JobRecord &waiting = site.waiting(1, 1, 1);
        waiting.gpu_share = {.kind = kind, .amount = wanted};
        ck_assert_msg(site.target() == expected, "%s %d + %d: %d GPUs", kind.c_str(), used, wanted,
                      site.target());
    }
}

TEST(jobs_with_shares_get_back_as_few_gpus_as_they_can_share) {
    for (const auto &[jobs, kept] : {std::pair{1, 1}, {2, 1}, {3, 2}, {8, 4}}) {
        Site site(2);
        site.malleable(1, {{0, 4}, {1, 4}}, 1);
        for (NodeRecord &node : site.seen.nodes) node.gpu_shares = {{"shard", 4}};
        for (int i = 0; i < jobs; ++i)
            site.waiting(1, 1, 1).gpu_share = {.kind = "shard", .amount = 2};
        const int kept_now = site.plan().pools[0].capacity.kept_for_rigid;
        ck_assert_msg(kept_now == kept, "%d jobs: %d GPUs", jobs, kept_now);
    }
}

TEST(no_job_grows_onto_gpus_that_others_share) {
    Site site(2);
    site.malleable(1, {{0, 2}}, 1);
    share(site, 1, "shard", {{1, 0, 2}, {1, 3, 1}});
    share(site, 1, "shard", {{1, 0, 2}});
    ck_assert_int_eq(site.plan().pools[0].free.node_gpus[1], 2);
    // 22.05 gives GPUs that are shared to one job as a whole: it does not shrink for that.
    site.malleable(1, {{1, 4}}, 1);
    const Plan plan = site.plan();
    ck_assert_int_eq(plan.pools[0].capacity.node_gpus[1], 4);
    ck_assert_int_eq(plan.pools[0].free.node_gpus[1], 0);
}

TEST(a_job_without_gpus_gets_back_the_memory_that_it_lacks) {
    for (const auto &[mb, expected] :
         {std::pair{12'001, 4}, {12'000, 8}, {15'001, 4}, {16'001, 8}}) {
        Site site(2);
        site.malleable(1, {{0, 4}, {1, 4}}, 1);
        site.waiting(0, 1, 1).memory = {.per = MemoryRequest::Per::node,
                                        .mb = static_cast<uint64_t>(mb)};
        ck_assert_msg(site.target() == expected, "%d MB: %d GPUs", mb, site.target());
    }
}

// With --mem, a job has as much memory on a node with one GPU as with four.
TEST(memory_per_node_is_freed_with_the_last_gpu_there) {
    for (const auto &[mb, kept] : {std::pair{8001, 4}, {8000, 0}, {16'001, 0}}) {
        Site site(2);
        site.malleable(1, {{0, 4}, {1, 4}}, 1);
        site.seen.jobs[0].memory = {.per = MemoryRequest::Per::node, .mb = 8000};
        for (int node : {0, 1}) site.use(node, 0, 8000 - 4000);
        site.waiting(0, 1, 1).memory = {.per = MemoryRequest::Per::node,
                                        .mb = static_cast<uint64_t>(mb)};
        ck_assert_int_eq(site.plan().pools[0].capacity.kept_for_rigid, kept);
    }
    Site site(1);  // its MIN is there: the memory stays
    site.malleable(1, {{0, 4}}, 1);
    site.seen.jobs[0].memory = {.per = MemoryRequest::Per::node, .mb = 8000};
    site.use(0, 0, 8000 - 4000);
    site.waiting(0, 1, 1).memory = {.per = MemoryRequest::Per::node, .mb = 9000};
    ck_assert_int_eq(site.plan().pools[0].capacity.kept_for_rigid, 0);
}

TEST(whole_nodes_are_given_back) {
    Site site(4);
    site.malleable(1, {{0, 4}, {1, 4}, {2, 4}, {3, 4}}, 1);
    JobRecord &whole = site.waiting(12, 3, 3);
    whole.whole_nodes = true;
    ck_assert_int_eq(site.target(), 4);
    // A job without GPUs holds a CPU of one of these nodes: the job moves there with its MIN.
    site.use(2, 1, 0);
    ck_assert_int_eq(site.plan().pools[0].capacity.kept_for_rigid, 12);
    ck_assert_uint_eq(site.plan().targets[0].moves_for, whole.id);
    // With a CPU of a second node in use, three are not whole.
    site.use(1, 1, 0);
    ck_assert_int_eq(site.plan().pools[0].capacity.kept_for_rigid, 0);
}

TEST(a_long_queue_of_jobs_without_a_place_hides_no_smaller_job) {
    Site site(2);
    site.malleable(1, {{0, 4}, {1, 4}}, 4);
    site.seen.jobs.reserve(1000);
    site.jobs[0].record = &site.seen.jobs[0];
    for (int i = 0; i < 400; ++i) site.waiting(0, 2, 28 + i % 4).priority = 2;
    ck_assert_int_eq(site.plan().pools[0].capacity.kept_for_rigid, 0);
    ck_assert_uint_eq(site.plan().pools[0].unserved.size(), 1);
    site.waiting(0, 1, 4).priority = 1;
    ck_assert_int_eq(site.plan().pools[0].capacity.kept_for_rigid, 1);
    site.waiting(0, 2, 16).priority = 1;  // of the same shape as the many, and smaller
    ck_assert_int_eq(site.plan().pools[0].capacity.kept_for_rigid, 5);
}

TEST(a_job_that_names_its_node_gets_that_one) {
    for (const int node : {0, 1, 2}) {
        Site site(3);
        site.malleable(1, {{0, 4}, {1, 4}}, 4);
        site.use(2, kNodeCpus, 0);
        site.waiting(0, 1, 8).required_nodes = {node};
        const Plan plan = site.plan();
        ck_assert_int_eq(plan.pools[0].capacity.kept_for_rigid, node == 2 ? 0 : 2);
        if (node < 2) ck_assert_int_eq(plan.pools[0].capacity.node_gpus[node], 2);
    }
}

// Its GPUs are idle, but a job without GPUs has the CPUs.
TEST(nothing_is_kept_for_a_job_that_lacks_other_jobs_cpus) {
    Site site(2);
    site.malleable(1, {{0, 2}}, 1);
    site.use(1, kNodeCpus, 0);
    ck_assert_int_eq(site.plan().pools[0].free.node_gpus[1], 0);
    site.waiting(4, 1, 4);
    const Plan plan = site.plan();
    ck_assert_int_eq(plan.pools[0].capacity.kept_for_rigid, 0);
    ck_assert_int_eq(plan.pools[0].unserved.size(), 1);
    ck_assert_int_eq(plan.pools[0].free.node_gpus[0], 2);
}

TEST(idle_gpus_beside_a_rigid_job_with_all_cpus_are_no_capacity) {
    Site site(2);
    site.malleable(1, {{0, 4}}, 4);
    site.add({{1, 1}}, kNodeCpus);
    ck_assert_int_eq(site.plan().pools[0].free.node_gpus[1], 0);
}

TEST(idle_gpus_whose_cpus_another_job_gets_are_left_alone) {
    Site site(1);
    site.malleable(1, {{0, 1}}, 4);
    ck_assert_int_eq(site.plan().pools[0].free.node_gpus[0], 3);
    site.waiting(0, 1, 8);  // 4 CPUs are left, for one GPU
    ck_assert_int_eq(site.plan().pools[0].free.node_gpus[0], 1);
    ck_assert_int_eq(site.plan().pools[0].capacity.node_gpus[0], 2);
}

// They are the site's default for each GPU.
TEST(no_job_grows_onto_gpus_without_the_cpus_that_it_has_for_each) {
    Site site(1);
    site.malleable(1, {{0, 1}}, 4);
    site.seen.jobs[0].cpus_per_task = 1;
    site.use(0, 8, 0);
    ck_assert_int_eq(site.plan().pools[0].free.node_gpus[0], 1);
    ck_assert_int_eq(site.target(), 2);
}

TEST(whole_cores_are_allocated) {
    Site site(1);
    site.malleable(1, {{0, 4}}, 1);
    site.use(0, 9, 0);  // 3 CPUs are left
    site.waiting(0, 1, 3);
    ck_assert_int_eq(site.target(), 4);
    site.seen.nodes[0].threads = 2;
    ck_assert_int_le(site.target(), 2);
}

// A job that restarts at another size gives up its CPUs for two seconds.
TEST(no_job_grows_while_another_would_take_its_cpus) {
    for (const auto &[cpus, is_contended] : {std::pair{3, true}, {9, false}}) {
        Site site(2);
        site.malleable(2, {{0, 2}}, 1);
        site.use(0, 13, 0);  // one CPU is left there, and 3 if the job leaves
        site.use(1, 15, 0);
        JobRecord &waits = site.waiting(0, 1, cpus);
        site.seen.nodes.push_back({.name = "other", .cpus = 64, .cpus_free = 64});
        for (NodeRecord &node : site.seen.nodes) node.partitions = {"main"};
        site.seen.nodes.back().partitions = {"other"};  // closed to the job
        for (JobRecord *job : {&site.seen.jobs[0], &waits}) job->partition = "main";
        ck_assert(site.plan().targets.at(0).gap_contended == is_contended);
    }
}

// Against every number of returned GPUs, one by one.
TEST(as_few_gpus_are_kept_as_the_demand_needs) {
    std::mt19937 random(3);
    const auto upto = [&](int n) { return std::uniform_int_distribution<int>(0, n)(random); };
    int none = 0, returning = 0;
    for (int round = 0; round < 20'000; ++round) {
        Site site(1);
        const int per_gpu = 1 + upto(3), held = 1 + upto(3);
        site.malleable(1, {{0, held}}, per_gpu);
        site.use(0, upto(site.seen.nodes[0].cpus_free), upto(8000));
        const NodeDemand demand{.gpus = upto(4), .cpus = upto(kNodeCpus), .mb = 1000L * upto(16)};
        const int free = kNodeGpus - held, room = free + upto(held);
        const NodeRecord &node = site.seen.nodes[0];
        const NodeRoom node_room(site.seen);
        std::optional<int> back;
        for (int gpus = 0; gpus <= room - free && !back; ++gpus)
            if (demand.gpus <= free + gpus && demand.cpus <= node.cpus_free + gpus * per_gpu &&
                demand.mb <= node.mb_free + 1000L * gpus)
                back = gpus;
        const std::optional<int> kept = node_room.kept_gpus(0, demand, free, room);
        ck_assert(kept.has_value() == back.has_value());
        if (!kept) {
            ++none;
            continue;
        }
        returning += *back > 0;
        // What is not kept has its CPUs and its memory, and no more could be. While GPUs are
        // returned, all idle ones are kept.
        const int left = free + *back - *kept;
        const auto fits = [&](int gpus) {
            return demand.cpus + gpus * per_gpu <= node.cpus_free &&
                   demand.mb + 1000L * gpus <= node.mb_free;
        };
        ck_assert_int_ge(left, 0);
        if (*back > 0)
            ck_assert_int_eq(left, 0);
        else
            ck_assert(fits(left) && (*kept == demand.gpus || !fits(left + 1)));
        ck_assert_int_ge(*kept, std::max(demand.gpus, *back));
    }
    ck_assert_int_gt(none, 1000);
    ck_assert_int_gt(returning, 1000);
}

int main() { return run_all("node_room"); }
