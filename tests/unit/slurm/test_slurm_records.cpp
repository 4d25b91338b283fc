// SPDX-License-Identifier: GPL-2.0-or-later
// What Slurm's own records contain about nodes and jobs.
#include <slurm/slurm_errno.h>

#include <string>
#include <vector>

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/node_room.h"
#include "slurm_plugin/slurm/cluster/job_arrays.h"
#include "slurm_plugin/slurm/cluster/listed_amounts.h"
#include "slurm_plugin/slurm/cluster/pending_reason.h"
#include "slurm_plugin/slurm/cluster/reservations.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"
#include "slurm_plugin/slurm/cluster/slurm_shares.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "tests/support/check.h"

using ringrt::controller::End;
using ringrt::controller::JobPhase;
using ringrt::controller::Observation;

extern "C" {
bitstr_t *slurm_bit_alloc(int64_t bits);
void slurm_bit_nset(bitstr_t *bits, int64_t first, int64_t last);
void slurm_bit_free(bitstr_t **bits);
}

namespace {

using ringrt::controller::NodeRecord;

struct NodesGiven {
    std::vector<uint32_t> states;
    std::vector<partition_info_t> partitions{};
    std::string gres = "gpu:4";  // of each
};

std::vector<NodeRecord> records_of(NodesGiven given) {
    char name[] = "n";
    std::vector<node_info_t> nodes;
    for (const uint32_t state : given.states) {
        nodes.emplace_back();
        nodes.back().name = name;
        nodes.back().gres = given.gres.data();
        nodes.back().node_state = state;
        nodes.back().owner = NO_VAL;
    }
    node_info_msg_t all_nodes{};
    all_nodes.node_array = nodes.data();
    all_nodes.record_count = static_cast<uint32_t>(nodes.size());
    partition_info_msg_t all_partitions{};
    all_partitions.partition_array = given.partitions.data();
    all_partitions.record_count = static_cast<uint32_t>(given.partitions.size());
    return ringrt::slurm::node_records(all_nodes, all_partitions);
}

}  // namespace

// The first future reservation. One that has begun shows in the node's state.
TEST(a_reservation_ahead_is_noted_on_its_nodes) {
    int32_t all[] = {0, 2, -1}, last[] = {2, 9, -1};
    std::vector<reserve_info_t> reservations(4);
    reservations[0].start_time = 900;
    reservations[0].node_inx = all;
    reservations[1].start_time = 2000;
    reservations[1].node_inx = all;
    reservations[2].start_time = 1500;
    reservations[2].node_inx = last;
    reservations[3].start_time = 1100;  // of licences: no nodes
    reserve_info_msg_t answer{};
    answer.reservation_array = reservations.data();
    answer.record_count = static_cast<uint32_t>(reservations.size());
    std::vector<NodeRecord> nodes(3);
    ringrt::slurm::note_reservations(answer, 1000, nodes);
    ck_assert(nodes[0].reserved_from_s == 2000 && nodes[1].reserved_from_s == 2000);
    ck_assert(nodes[2].reserved_from_s == 1500);
    nodes.assign(3, {});
    ringrt::slurm::note_reservations({}, 1000, nodes);
    ck_assert(nodes == std::vector<NodeRecord>(3));
}

// A job that leaves for its resize cannot restart in a partition that is DOWN, or on a node that is
// in no partition.
TEST(nodes_and_partitions_that_start_no_jobs_are_in_no_pool) {
    char up[] = "up", down[] = "down";
    int32_t up_nodes[] = {0, 0, 3, 3, -1}, down_nodes[] = {1, 1, -1};
    std::vector<partition_info_t> partitions(2);
    partitions[0].name = up;
    partitions[0].state_up = PARTITION_DRAIN;  // takes no new jobs, but starts its pending ones
    partitions[0].node_inx = up_nodes;
    partitions[1].name = down;
    partitions[1].state_up = PARTITION_DOWN;
    partitions[1].node_inx = down_nodes;
    Observation seen;
    seen.nodes = records_of({std::vector<uint32_t>(4, NODE_STATE_IDLE), partitions});
    seen.jobs = {
        {.id = 1, .partition = "down,up"},
        {.id = 2, .phase = JobPhase::running, .partition = "down", .gpus_on_node = {{1, 4}}}};
    for (auto &job : seen.jobs)
        job.intent = ringrt::records::Intent{.gpus_min = 1, .gpus_max = 8, .gpus = 4};
    ringrt::controller::NodeRoom node_room(seen);
    const auto pools = make_pools(seen, malleable_jobs(seen, {}), node_room, {});
    ck_assert_uint_eq(pools.at(0).jobs.size(), 1);
    ck_assert_uint_eq(pools.at(0).jobs.at(0), 0);
    ck_assert(pools.at(0).free.node_gpus == (std::vector<int>{4, 0, 0, 4}));
    for (std::size_t i = 1; i < pools.size(); ++i) ck_assert(pools[i].jobs.empty());
}

TEST(a_node_on_which_a_job_completes_is_noted) {
    const auto nodes = records_of({{NODE_STATE_MIXED | NODE_STATE_COMPLETING, NODE_STATE_IDLE}});
    ck_assert(nodes[0].completing && nodes[0].usable && !nodes[1].completing);
}

// Slurm starts a job on nodes that are powered down, and powers them up. So a rigid job that needs
// three nodes gets the one that is up back, and the two others count for it. No malleable job grows
// onto a node that is powered down or boots.
TEST(nodes_that_are_powered_down_are_for_pending_rigid_jobs) {
    constexpr uint32_t kUp = NODE_STATE_MIXED, kDown = NODE_STATE_IDLE | NODE_STATE_POWERED_DOWN,
                       kBoots = NODE_STATE_IDLE | NODE_STATE_POWERING_UP | NODE_STATE_NO_RESPOND,
                       kEnds = NODE_STATE_IDLE | NODE_STATE_POWERING_DOWN,
                       kDrained = kDown | NODE_STATE_DRAIN;
    for (const int nodes : {3, 4}) {
        Observation seen;
        seen.now_s = 1000;
        seen.nodes = records_of({{kUp, kDown, kBoots, kEnds, kDrained}});
        seen.jobs = {
            {.id = 1, .phase = JobPhase::running, .gpus_requested = 4, .gpus_on_node = {{0, 4}}},
            {.id = 2,
             .pending_reason = ringrt::controller::PendingReason::resources,
             .gpus_requested = 4 * nodes - 1,
             .nodes_requested = nodes,
             .any_shares = true}};
        seen.jobs[0].intent =
            ringrt::records::Intent{.gpus_min = 1,
                                    .gpus_max = 4,
                                    .state = ringrt::records::IntentState::running,
                                    .gpus = 4};
        ringrt::controller::NodeRoom node_room(seen);
        const auto jobs = malleable_jobs(seen, {});
        const auto pools = make_pools(seen, jobs, node_room, {});
        const auto &pool = pools.at(0);
        ck_assert(pool.free.node_gpus == (std::vector<int>{0, -1, -1, -1, -1}));
        const bool starts = nodes == 3;  // with the 3 GPUs that the job on the first node borrowed
        ck_assert_int_eq(pool.capacity.node_gpus.at(0), starts ? 1 : 4);
        ck_assert(pool.asleep ==
                  (starts ? std::vector<int>{0, 0, 0, 0, 0} : std::vector<int>{0, 4, 4, 0, 0}));
        ck_assert_uint_eq(pool.unserved.size(), starts ? 0 : 1);
    }
}

// A pending job of the last listing may have started since. Its CPUs do not count as in use too.
TEST(free_cpus_are_at_least_those_of_the_last_listing_of_jobs) {
    const auto nodes = [](int cpus_free, int64_t mb_free) {
        return std::vector<NodeRecord>{
            {.cpus = 16, .cpus_free = cpus_free, .mb = 4000, .mb_free = mb_free}};
    };
    ringrt::slurm::ListedAmounts listed;
    const auto seen = [&](std::vector<NodeRecord> now) {
        listed.apply_to(now);
        return std::pair(now[0].cpus_free, now[0].mb_free);
    };
    ck_assert(seen(nodes(4, 1000)) == std::pair(4, int64_t{1000}));
    listed.note(nodes(12, 2000));
    ck_assert(seen(nodes(4, 3000)) == std::pair(12, int64_t{3000}));
    ck_assert(seen(nodes(14, 1000)) == std::pair(14, int64_t{2000}));
    std::vector<NodeRecord> more(2);  // slurm.conf has changed
    listed.apply_to(more);
    ck_assert(more == std::vector<NodeRecord>(2));
    listed.forget();
    ck_assert(seen(nodes(4, 1000)) == std::pair(4, int64_t{1000}));
}

TEST(tasks_of_arrays_are_identified) {
    using ringrt::slurm::JobArrays;
    const auto task = [](uint32_t number, uint32_t of, uint32_t state, uint32_t most) {
        slurm_job_info_t job{};
        job.array_job_id = 7;
        job.array_task_id = of;
        job.array_max_tasks = most;
        job.job_state = state;
#if RINGRT_SLURM_AT_LEAST(25, 11)
        job.step_id.job_id = number;
#else
        job.job_id = number;
#endif
        return job;
    };
    const auto told = [](const std::vector<slurm_job_info_t> &jobs, std::size_t which) {
        ringrt::controller::JobRecord record;
        JobArrays(jobs).note_in(jobs[which], record);
        return record;
    };
    std::vector<slurm_job_info_t> jobs{task(8, 0, JOB_RUNNING, 2), task(9, 1, JOB_RUNNING, 2),
                                       task(7, 2, JOB_PENDING, 2), slurm_job_info_t{}};
    EXPECT_TEXT(told(jobs, 1).array_task, "7_1");
    EXPECT_TEXT(told(jobs, 2).array_task, "7_2");
    EXPECT_TEXT(told(jobs, 3).array_task, "");
    ck_assert(told(jobs, 0).array_at_limit && told(jobs, 1).array_at_limit);
    ck_assert(!told(jobs, 3).array_at_limit);
    jobs[1].job_state = JOB_COMPLETE;  // there is room for one more
    ck_assert(!told(jobs, 0).array_at_limit);
    jobs[1].job_state = JOB_RUNNING;
    jobs[2].job_state = JOB_RUNNING;  // no task is pending
    ck_assert(!told(jobs, 0).array_at_limit);
    for (slurm_job_info_t &job : jobs) job.array_max_tasks = 0;  // no limit
    jobs[2].job_state = JOB_PENDING;
    ck_assert(!told(jobs, 0).array_at_limit);
    // The tasks without a record yet: 70 of them, and with a limit no more than may start.
    bitstr_t *tasks = slurm_bit_alloc(128);
    slurm_bit_nset(tasks, 30, 99);
    jobs[2].array_task_id = NO_VAL;
    ck_assert_int_eq(told(jobs, 2).tasks_waiting, 1);
    jobs[2].array_bitmap = tasks;
    ck_assert_int_eq(told(jobs, 2).tasks_waiting, 70);
    EXPECT_TEXT(told(jobs, 2).array_task, "");
    for (slurm_job_info_t &job : jobs) job.array_max_tasks = 5;
    ck_assert_int_eq(told(jobs, 2).tasks_waiting, 3);
    for (slurm_job_info_t &job : jobs) job.array_max_tasks = 2;
    ck_assert_int_eq(told(jobs, 2).tasks_waiting, 1);
    slurm_bit_free(&tasks);
}

TEST(a_limit_is_distinguished_from_other_reasons) {
    using ringrt::controller::PendingReason;
    const auto waits = [](uint32_t reason) {
        slurm_job_info_t job{};
        job.job_state = JOB_PENDING;
        job.priority = 1;
        job.state_reason = static_cast<decltype(job.state_reason)>(reason);
        return ringrt::slurm::job_record(job, {}).pending_reason;
    };
    for (const uint32_t reason : {WAIT_ASSOC_MAX_JOBS, WAIT_QOS_MAX_GRES_PER_USER, WAIT_LICENSES,
                                  WAIT_ASSOC_GRP_GRES_RUN_MIN, WAIT_QOS_GRP_BILLING_MIN})
        ck_assert(waits(reason) == PendingReason::limit);
    for (const uint32_t reason : {WAIT_DEPENDENCY, WAIT_ARRAY_TASK_LIMIT})
        ck_assert(waits(reason) == PendingReason::dependency);
    for (const uint32_t reason : {WAIT_PART_DOWN, WAIT_QOS_MAX_GRES_PER_JOB})
        ck_assert(waits(reason) == PendingReason::other);
}

TEST(licences_are_known_by_name) {
    using ringrt::slurm::licence_names;
    ck_assert(licence_names("solver:4,viewer@host:1;x|y") ==
              (std::vector<std::string>{"solver", "viewer@host", "x", "y"}));
    ck_assert(licence_names("").empty() && licence_names(",,:3,").empty());
}

TEST(cpus_and_memory_per_gpu_are_those_of_all_its_gpus) {
    slurm_job_info_t job{};
    char tres[] = "gres:gpu:3", requested[] = "gres:gpu:12", site[] = "gpu:12", other[] = "nic:5";
    job.job_state = JOB_PENDING;
    job.num_cpus = 2;
    job.cpus_per_task = NO_VAL16;
    job.tres_per_job = tres;
    const auto cpus = [&](char *per_gpu) {
        job.cpus_per_tres = job.mem_per_tres = per_gpu;
        return ringrt::slurm::job_record(job, {}).cpus_requested;
    };
    ck_assert_int_eq(cpus(nullptr), 2);
    ck_assert_int_eq(cpus(other), 2);
    for (char *per_gpu : {requested, site}) {
        ck_assert_int_eq(cpus(per_gpu), 36);
        ck_assert_uint_eq(ringrt::slurm::job_record(job, {}).memory.total_mb(3, 2, 1), 36);
    }
    job.cpus_per_task = 2;
    ck_assert_int_eq(cpus(site), 2);
    job.cpus_per_task = 1;
    job.job_state = JOB_RUNNING;  // then Slurm shows what it has
    ck_assert_int_eq(cpus(site), 2);
}

// A timeout and a lost node have exit code 0 as well.
TEST(only_slurms_own_state_makes_a_job_completed) {
    const auto end = [](uint32_t state) {
        slurm_job_info_t job{};
        job.job_state = state;
        return ringrt::slurm::job_record(job, {}).end.value().how;
    };
    ck_assert(end(JOB_COMPLETE) == End::How::completed);
    for (const uint32_t state : {JOB_FAILED, JOB_OOM}) ck_assert(end(state) == End::How::failed);
    ck_assert(end(JOB_CANCELLED) == End::How::cancelled);
    for (const uint32_t state : {JOB_TIMEOUT, JOB_NODE_FAIL})
        ck_assert(end(state) == End::How::by_slurm);
}

// This cluster only keeps its record.
TEST(a_job_that_runs_elsewhere_in_a_federation_waits_for_nothing_here) {
    slurm_job_info_t job{};
    job.job_state = JOB_PENDING | JOB_REVOKED;
    job.priority = 1;
    ck_assert(ringrt::slurm::job_record(job, {}).phase == JobPhase::finished);
}

TEST(slurms_own_holds_are_distinguished_from_others) {
    const auto hold = [](uint32_t priority, uint32_t reason, const char *text) {
        slurm_job_info_t job{};
        std::string words = text;
        job.job_state = JOB_PENDING;
        job.priority = priority;
        job.state_reason = static_cast<decltype(job.state_reason)>(reason);
        job.state_desc = words.data();
        return ringrt::slurm::job_record(job, {}).slurm_hold;
    };
    using ringrt::controller::SlurmHold;
    ck_assert(hold(0, FAIL_BAD_CONSTRAINTS, "") == SlurmHold::bad_constraints);
    ck_assert(hold(0, WAIT_HELD, "launch failed requeued held") == SlurmHold::launch_failed);
    ck_assert(hold(0, WAIT_HELD, "") == SlurmHold::none);
    ck_assert(hold(0, WAIT_HELD_USER, "") == SlurmHold::none);
    ck_assert(hold(7, FAIL_BAD_CONSTRAINTS, "") == SlurmHold::none);
}

// Idle for two seconds, it would be restarted.
TEST(shares_of_gpus_are_read_in_every_spelling) {
    using ringrt::controller::GpuShare;
    using ringrt::controller::HeldShare;
    using ringrt::slurm::gpu_share;
    using ringrt::slurm::held_shares;
    ck_assert(gpu_share("gres:shard:2") == GpuShare({"shard", 2}));
    ck_assert(gpu_share("gres/gpu:1,gres/mps:50") == GpuShare({"mps", 50}));
    ck_assert(gpu_share("shard") == GpuShare({"shard", 1}));
    for (const char *other : {"", "gres/gpu:a100:2", "gres/shards:2", "gres/nic:mpsx", "gpu:mps:"})
        ck_assert_msg(gpu_share(other).amount == 0, "%s", other);
    ck_assert(ringrt::slurm::shares_of_a_gpu("gpu:4(S:0-1),shard:16(S:0)", 4) ==
              std::vector<GpuShare>({{"shard", 4}}));
    ck_assert(ringrt::slurm::shares_of_a_gpu("gpu:4,mps:400,nic:1,shard:8", 4) ==
              std::vector<GpuShare>({{"mps", 100}, {"shard", 2}}));
    ck_assert(ringrt::slurm::shares_of_a_gpu("shard:16", 0).empty());
    using Held = std::vector<HeldShare>;
    ck_assert(held_shares("shard:2(IDX:3)", 1) == Held({{1, 3, 2}}));
    ck_assert(held_shares("gpu:1(IDX:0),shard:4(IDX:0,2-3)", 0) ==
              Held({{0, 0, 2}, {0, 2, 2}, {0, 3, 2}}));
    ck_assert(held_shares("mps:50(0/100,50/100)", 0) == Held({{0, 1, 50}}));
    for (const char *unknown : {"shard(CNT:2)", "shard:2", "shard:2)(", "gpu:2(IDX:0)"})
        ck_assert_msg(held_shares(unknown, 0).empty(), "%s", unknown);
}

// The parts of the second node come after both nodes.
TEST(gpus_of_a_node_with_several_types_are_held_by_type) {
    using Held = std::vector<std::pair<int, int>>;
    const auto nodes = records_of({.states = {NODE_STATE_IDLE, NODE_STATE_IDLE},
                                   .gres = "gpu:a100:4(S:0),gpu:h100:1,gpu:h100:1(S:1),shard:6"});
    ck_assert_uint_eq(nodes.size(), 4);
    ck_assert(nodes[1].gpus == 4 && nodes[3].gpus == 2 && nodes[3].part_of == 1);
    ck_assert(nodes[3].gpu_types == std::vector<std::string>{"h100"} && nodes[3].usable);
    ck_assert_int_eq(nodes[3].gpu_shares.at(0).amount, 1);
    ck_assert_uint_eq(records_of({.states = {NODE_STATE_IDLE}, .gres = "gpu:a100:2,gpu:2"}).size(),
                      1);
    char first[] = "gpu:h100:1(IDX:4)", second[] = "gpu:a100:3(IDX:0-2),gpu:h100:2(IDX:4-5)";
    char unknown[] = "gpu:5", shards[] = "shard:1(0/1,0/1,0/1,0/1,0/1,1/1)";
    char *details[] = {first, second};
    int32_t on[] = {0, 1, -1};
    slurm_job_info_t job{.gres_detail_cnt = 2, .gres_detail_str = details, .node_inx = on};
    job.job_state = JOB_RUNNING;
    job.num_tasks = job.num_nodes = 1;
    const auto held = [&] { return ringrt::slurm::job_record(job, nodes).gpus_on_node; };
    ck_assert(held() == Held({{2, 1}, {1, 3}, {3, 2}}));
    details[1] = unknown;
    ck_assert(held() == Held({{2, 1}, {1, 4}, {3, 1}}));
    // A step's host lacks its line: the job's most on each, of its own type.
    char typed[] = "gres:gpu:h100:2";
    job.gres_detail_cnt = 1;
    job.tres_per_job = typed;
    ck_assert(held() == Held({{2, 1}, {3, 1}}));
    char share[] = "gres:shard:1";
    job = {.gres_detail_cnt = 2, .gres_detail_str = details, .node_inx = on};
    job.job_state = JOB_RUNNING;
    job.num_tasks = job.num_nodes = 1;
    job.tres_per_node = share;
    details[0] = details[1] = shards;
    const auto shared = ringrt::slurm::job_record(job, nodes).shares_held;
    ck_assert(shared.size() == 2 && shared[0].node == 2 && shared[1].node == 3);
}

TEST(a_job_of_several_types_requests_each) {
    using Types = std::vector<std::pair<std::string, int>>;
    char each[] = "gres:gpu:a100:2,gres:gpu:h100", all[] = "gres/gpu:a100:10,gres/gpu:h100:3";
    const std::vector<NodeRecord> nodes(2);
    slurm_job_info_t job{};
    job.job_state = JOB_PENDING;
    job.num_nodes = 3;
    job.num_tasks = 4;
    job.tres_per_node = each;
    const auto record = [&] { return ringrt::slurm::job_record(job, nodes); };
    ck_assert(record().gpus_of_types == Types({{"a100", 6}, {"h100", 3}}));
    ck_assert(record().gpus_requested == 9 && record().gpu_type.empty() && !record().any_shares);
    job.tres_per_node = nullptr;
    job.tres_per_task = each;
    ck_assert(record().gpus_of_types == Types({{"a100", 8}, {"h100", 4}}));
    job.tres_per_task = nullptr;
    job.tres_per_job = all;
    ck_assert(record().gpus_of_types == Types({{"a100", 10}, {"h100", 3}}));
    ck_assert(record().gpus_requested == 13 && record().any_shares);
    char typed[] = "gres:gpu:a100:2", huge[] = "gpu:a:4000000000,gpu:b:4000000000,gpu:c:999999";
    job.tres_per_job = typed;
    ck_assert(record().gpus_of_types.empty() && record().gpu_type == "a100");
    job.tres_per_job = huge;
    ck_assert_int_gt(record().gpus_requested, 0);
}

TEST(a_job_that_waits_for_shares_needs_one_gpu_on_each_node) {
    char wanted[] = "gres/shard:2", each[] = "gres/mps:10", held[] = "shard:2(2/4,0/4)";
    char *details[] = {held};
    int32_t on[] = {1, 1, -1};
    const std::vector<NodeRecord> nodes(2);
    slurm_job_info_t job{};
    job.job_state = JOB_PENDING;
    job.priority = 1;
    job.state_reason = WAIT_RESOURCES;
    job.num_nodes = 2;
    job.num_tasks = 3;
    job.tres_per_node = wanted;
    const auto waiting = ringrt::slurm::job_record(job, nodes);
    ck_assert(waiting.gpus_requested == 2 && waiting.gpu_share.amount == 2 && !waiting.any_shares);
    job.state_reason = WAIT_QOS_GRP_CPU;
    ck_assert_int_eq(ringrt::slurm::job_record(job, nodes).gpus_requested, 0);
    job.tres_per_node = nullptr;
    job.tres_per_task = each;
    ck_assert_int_eq(ringrt::slurm::job_record(job, nodes).gpu_share.amount, 20);
    job.tres_per_node = wanted;
    job.job_state = JOB_RUNNING;
    job.node_inx = on;
    job.gres_detail_str = details;
    job.gres_detail_cnt = 1;
    const auto running = ringrt::slurm::job_record(job, nodes);
    ck_assert(running.gpus_requested == 0 && running.gpus_on_node.empty());
    ck_assert(running.shares_held ==
              std::vector<ringrt::controller::HeldShare>({{.node = 1, .gpu = 0, .amount = 2}}));
}

TEST(a_node_about_to_restart_takes_no_job) {
    for (const uint32_t flag : {NODE_STATE_REBOOT_REQUESTED, NODE_STATE_REBOOT_ISSUED,
                                NODE_STATE_POWER_DOWN, NODE_STATE_POWER_DRAIN, NODE_STATE_DRAIN})
        ck_assert(!records_of({{NODE_STATE_ALLOCATED | flag}}).at(0).usable);
    ck_assert(records_of({{NODE_STATE_ALLOCATED | NODE_STATE_PLANNED}}).at(0).usable);
}

int main() { return ringrt::test::run_all("slurm_records"); }
