// SPDX-License-Identifier: BSD-3-Clause
// Which nodes a job may use: no job is asked to leave for GPUs out of reach, or for a job that
// cannot use its GPUs.
#include "slurm_plugin/controller/controller.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/reach.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;

namespace {

TEST(partitions_kinds_features_and_excluded_nodes_count) {
    const NodeRecord node{.name = "n3",
                          .gpus = 4,
                          .partitions = {"main", "large"},
                          .gpu_types = {"a100"},
                          .features = {"ib", "nvme"}};
    const auto may = [&](JobRecord job) {
        if (job.partition.empty()) job.partition = "main";
        return may_use(job, node, 3);
    };
    ck_assert(may({}) && may({.partition = "other,large"}) && !may({.partition = "other"}));
    ck_assert(!may({.partition = "mai"}) && !may({.partition = "mainly"}));
    ck_assert(may({.gpu_type = "a100"}) && !may({.gpu_type = "h100"}));
    ck_assert(may({.features = "ib"}) && may({.features = "ib&nvme"}));
    ck_assert(!may({.features = "ib&gold"}) && !may({.features = "gold"}));
    ck_assert(may({.features = "[gold*2&ib*1]"}) && may({.features = "gold|ib"}));
    ck_assert(may({.excluded_nodes = {2, 4}}) && !may({.excluded_nodes = {2, 3}}));
    ck_assert(may_use({.partition = "any", .gpu_type = "h100"}, {.name = "n1", .gpus = 4}, 0));
}

// n0 and n1: a100, partitions main and large; n2: h100, only in large.
struct Site {
    Observation seen;

    Site() {
        seen.now_s = 5000;
        for (int i = 0; i < 3; ++i)
            seen.nodes.push_back({.name = "n" + std::to_string(i),
                                  .gpus = 4,
                                  .partitions = i < 2 ? std::vector<std::string>{"large", "main"}
                                                      : std::vector<std::string>{"large"},
                                  .gpu_types = {i < 2 ? "a100" : "h100"}});
    }
    JobRecord &add(const std::string &partition, int gpus) {
        seen.jobs.push_back({.id = static_cast<uint32_t>(seen.jobs.size() + 1),
                             .partition = partition,
                             .submit_s = 4000,
                             .priority = 10,
                             .gpus_requested = gpus});
        return seen.jobs.back();
    }
    void add_malleable(const std::string &partition, int max, int gpus, int node) {
        JobRecord &job = add(partition, std::max(1, gpus));
        ringrt::records::Intent intent{.gpus_min = 1, .gpus_max = max, .first_gpus = max};
        if (gpus > 0) {
            job.phase = JobPhase::running;
            job.start_s = 4000;
            job.gpus_on_node = {{node, gpus}};
            intent.state = ringrt::records::IntentState::running;
            intent.gpus = gpus;
            intent.run = 0;
        }
        set_intent(job, intent);
    }
    [[nodiscard]] Plan plan() const {
        const Options options{.settle_s = 1, .payback = 0};
        return decide(seen, malleable_jobs(seen, options), {}, options);
    }
};

TEST(a_job_that_waits_for_another_kind_of_gpu_gets_none_back) {
    Site site;
    site.add_malleable("main", 4, 4, 0);
    JobRecord &holder = site.add("large", 4);
    holder.phase = JobPhase::running;
    holder.gpus_on_node = {{2, 4}};
    JobRecord &waits = site.add("large", 3);
    waits.pending_reason = PendingReason::resources;
    site.seen.jobs.push_back(site.seen.jobs[1]);  // n1 is taken as well
    site.seen.jobs.back().id = 9;
    site.seen.jobs.back().gpus_on_node = {{1, 4}};
    ck_assert_int_eq(site.plan().targets.at(0).allotment.gpus, 1);  // of any kind: it gives
    site.seen.jobs[2].gpu_type = "h100";
    ck_assert_int_eq(site.plan().targets.at(0).allotment.gpus, 4);
    const Plan plan = site.plan();
    ck_assert_uint_eq(plan.pools.at(0).unserved.size(), 1);
    ck_assert(!plan.targets.at(0).gap_contended);  // and that job cannot use its GPUs
}

TEST(gpus_of_another_partition_are_out_of_reach) {
    Site site;
    site.add_malleable("main", 8, 0, 0);
    JobRecord &holder = site.add("main", 4);
    holder.phase = JobPhase::running;
    holder.gpus_on_node = {{0, 4}};
    ck_assert_int_eq(site.plan().targets.at(0).placeable_gpus, 4);
    site.seen.jobs[0].partition = "large";
    ck_assert_int_eq(site.plan().targets.at(0).placeable_gpus, 8);
}

// Idle GPUs that the job cannot use do not stand for its MIN: exactly one of the jobs on its nodes
// gives GPUs back, whether n2 is idle or taken.
TEST(a_min_among_borrowed_gpus_is_not_placed_out_of_reach) {
    for (const bool is_taken : {false, true}) {
        Site site;
        site.add_malleable("main", 4, 4, 0);
        site.add_malleable("main", 4, 4, 1);
        JobRecord &waits = site.add("main", 1);
        waits.pending_reason = PendingReason::resources;
        set_intent(waits, {.gpus_min = 1,
                           .gpus_max = 4,
                           .state = ringrt::records::IntentState::released,
                           .target = 1,
                           .run = 0});
        JobRecord &holder = site.add("large", 4);
        holder.gpus_on_node = {{2, 4}};
        holder.phase = JobPhase::running;
        if (!is_taken) site.seen.jobs.pop_back();
        const Plan plan = site.plan();
        const int first = plan.targets.at(0).allotment.gpus;
        const int second = plan.targets.at(1).allotment.gpus;
        ck_assert_msg(first + second == 6, "taken %d: %d and %d", is_taken, first, second);
        ck_assert_int_ge(plan.targets.at(2).allotment.gpus, 1);
        ck_assert(plan.pools.at(0).has_pending && plan.pools.at(0).room_is_coming);
    }
}

// Slurm starts no job whose time limit ends after a reservation begins. A resize delays the end
// slightly.
TEST(a_job_gets_no_node_whose_reservation_it_would_meet) {
    const NodeRecord node{.name = "n1", .gpus = 4, .reserved_from_s = 10'000};
    JobRecord job{.phase = JobPhase::running, .start_s = 1'000, .time_limit_s = 9'001};
    ck_assert(is_reserved_too_soon(job, node) && !may_use(job, node, 0));
    job.time_limit_s = 8'900;  // ends 100 s before
    ck_assert(is_reserved_too_soon(job, node));
    job.time_limit_s = 8'800;
    ck_assert(!is_reserved_too_soon(job, node) && may_use(job, node, 0));
    job.suspended_s = 500;
    ck_assert(is_reserved_too_soon(job, node));
    job.time_limit_s.reset();
    ck_assert(is_reserved_too_soon(job, node));
    ck_assert(!is_reserved_too_soon(job, {.name = "n2", .gpus = 4}));
    // A pending job's limit counts from now, or from its earliest start.
    JobRecord waits{.time_limit_s = 3'000, .slurmctld_s = 6'000};
    ck_assert(!is_reserved_too_soon(waits, node));
    waits.begin_s = 7'500;
    ck_assert(is_reserved_too_soon(waits, node));
}

// Two rigid jobs each wait for one GPU of n0, where two jobs of two run. The first job gives. When
// the second rigid job comes, the second job is asked as well, though n1 and n2 have enough GPUs.
TEST(the_gpus_that_an_asked_job_keeps_count_on_its_node) {
    Site site;
    for (int i = 0; i < 2; ++i) site.add_malleable("large", 2, 2, 0);
    for (int i = 0; i < 2; ++i) {
        JobRecord &waits = site.add("large", 1);
        waits.pending_reason = PendingReason::resources;
        waits.excluded_nodes = {1, 2};
    }
    ck_assert_int_eq(site.plan().targets.at(0).allotment.gpus, 1);
    ck_assert_int_eq(site.plan().targets.at(1).allotment.gpus, 1);
    ringrt::records::Intent asked = *site.seen.jobs[0].intent;
    asked.state = ringrt::records::IntentState::asked;
    asked.target = 1;
    asked.why = "gave_to_rigid";
    asked.asked_s = site.seen.now_s - 1;
    set_intent(site.seen.jobs[0], asked);
    ck_assert_int_eq(site.plan().targets.at(1).allotment.gpus, 1);
}

// It was paused for a job in one of its partitions, and the nodes of the other are free.
TEST(a_paused_job_continues_in_any_of_its_partitions) {
    Observation seen;
    seen.now_s = 5000;
    for (const char *name : {"main", "other"})
        seen.nodes.push_back({.name = std::string("n-") + name, .gpus = 4, .partitions = {name}});
    const auto add = [&](const std::string &partition, const ringrt::records::Intent &intent) {
        JobRecord job{.id = static_cast<uint32_t>(seen.jobs.size() + 1), .partition = partition};
        job.submit_s = 4000;
        job.gpus_requested = 4;
        set_intent(job, intent);
        seen.jobs.push_back(job);
        return &seen.jobs.back();
    };
    ringrt::records::Intent intent{.gpus_min = 4, .gpus_max = 4, .gpus = 4, .run = 0};
    intent.state = ringrt::records::IntentState::running;
    JobRecord *runs = add("main", intent);
    runs->phase = JobPhase::running;
    runs->start_s = 4000;
    runs->gpus_on_node = {{0, 4}};
    intent.state = ringrt::records::IntentState::paused;
    intent.target = 4;
    intent.since_s = 4900;
    intent.begin_s = 5500;
    intent.pause = true;
    const auto placeable = [&](const std::string &partitions) {
        seen.jobs.resize(1);
        add(partitions, intent)->begin_s = 5500;
        const auto jobs = malleable_jobs(seen, quick_options());
        ck_assert(jobs.at(1).stage == Stage::paused);
        return decide(seen, jobs, {}, quick_options()).targets.at(1).placeable_gpus;
    };
    ck_assert_int_eq(placeable("main"), 0);
    for (const char *both : {"main,other", "other,main", "gone,main,none,other"})
        ck_assert_int_eq(placeable(both), 4);
}

// All of the job's nodes are reserved soon. It is sized like any job, for when they are not.
class ReservedCluster final : public Agreeing {
  public:
    ReservedCluster() {
        seen.now_s = 1763721600;
        for (const char *name : {"n0", "n1"})
            seen.nodes.push_back({.name = name, .gpus = 4, .reserved_from_s = seen.now_s + 600});
        JobRecord job{.id = 1, .submit_s = seen.now_s - 60};
        job.slurmctld_s = seen.now_s;
        job.time_limit_s = 3600;
        job.gpus_requested = 4;
        job.cpus_per_task = 2;
        seen.jobs.push_back(job);
        set_intent(seen.jobs[0], {.gpus_min = 4, .gpus_max = 4});
    }
    RpcStatus update_pending(uint32_t, const PendingUpdate &update) override {
        if (update.size) nodes = update.size->nodes;
        return RpcStatus::ok;
    }
    void write(const Event &) override {}
    int nodes = 0;
};

TEST(a_job_whose_nodes_are_all_reserved_is_not_scattered) {
    ReservedCluster cluster;
    Controller controller(cluster, cluster, quick_options());
    for (int s = 0; s < 30; ++s) controller.pass(cluster.seen.now_s + s);
    ck_assert_int_eq(cluster.nodes, 1);
}

// Its partition is down, and Slurm starts no size of it. That is no reason for a smaller size.
TEST(a_job_whose_partition_was_down_keeps_its_size) {
    ReservedCluster cluster;
    Observation &seen = cluster.seen;
    const double begin_s = seen.now_s;
    for (NodeRecord &node : seen.nodes) node.reserved_from_s = 0;
    for (NodeRecord &node : seen.nodes) node.partitions = {"other"};
    ringrt::records::Intent intent{.gpus_min = 4, .gpus_max = 8, .target = 8, .run = 0};
    intent.state = ringrt::records::IntentState::released;
    intent.since_s = begin_s - 10;
    JobRecord &job = seen.jobs[0];
    job.partition = "main";
    job.gpus_requested = 8;
    job.begin_s = begin_s - 10;
    set_intent(job, intent);
    Options options = quick_options();
    options.fit_wait_s = 20;
    Controller controller(cluster, cluster, options);
    for (int s = 0; s < 40; ++s) controller.pass(begin_s + s);
    for (NodeRecord &node : seen.nodes) node.partitions = {"main"};
    for (int s = 40; s < 55; ++s) controller.pass(begin_s + s);
    ck_assert_int_eq(cluster.nodes, 0);
    for (int s = 55; s < 65; ++s) controller.pass(begin_s + s);
    ck_assert_int_eq(cluster.nodes, 1);
}

}  // namespace

int main() { return run_all("reach"); }
