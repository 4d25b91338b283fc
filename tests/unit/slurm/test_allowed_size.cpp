// SPDX-License-Identifier: GPL-2.0-or-later
// How many GPUs the limits of an account, a user and a QOS leave to a malleable job.
#include "tests/unit/slurm/limited_site.h"

using namespace ringrt::controller;
using namespace ringrt::slurm;
using namespace ringrt::test;

TEST(without_a_limit_any_size_is_allowed) {
    ck_assert(Site().allow(waiting_job()) == std::nullopt);
    ck_assert(Site().allow(running_job(4)) == std::nullopt);
}

TEST(each_gpu_limit_leaves_what_others_do_not_hold) {
    struct Case {
        Amounts Site::*limit;
        Amounts Site::*used;  // null: the limit of a single job
    };
    for (const auto &[most, in_use] : {Case{&Site::qos_group, &Site::in_qos},
                                       {&Site::qos_user, &Site::of_user_in_qos},
                                       {&Site::qos_account, &Site::of_account_in_qos},
                                       {&Site::account_group, &Site::in_account},
                                       {&Site::user_group, &Site::of_user},
                                       {&Site::qos_job, nullptr},
                                       {&Site::user_job, nullptr}}) {
        Site site;
        site.*most = limit(gpu, 6);
        ck_assert(site.allow(waiting_job()) == 6);
        ck_assert(site.allow(running_job(0)) == 6);
        if (in_use == nullptr) continue;
        site.*in_use = used(4);
        ck_assert(site.allow(waiting_job()) == 2);
        ck_assert(site.allow(running_job(4)) == 6);  // the job holds these itself
        ck_assert(site.allow(running_job(1)) == 3);
        site.*in_use = used(6);
        ck_assert(site.allow(waiting_job()) == 0);
        ck_assert(site.allow(running_job(2)) == 2);
        site.*in_use = used(9);  // the limit was lowered meanwhile
        ck_assert(site.allow(running_job(2)) == 0);
    }
}

TEST(the_tightest_limit_holds) {
    Site site;
    site.qos_group = limit(gpu, 6);
    site.user_job = limit(gpu, 3);
    site.account_group = limit(cpu, 5);
    ck_assert(site.allow(waiting_job()) == 3);
}

TEST(a_limit_of_the_qos_replaces_the_accounts) {
    Site site;
    site.qos_group = limit(gpu, 6);
    site.account_group = limit(gpu, 2);
    site.user_group = limit(gpu, 2);
    ck_assert(site.allow(waiting_job()) == 6);
    site.qos_job = limit(gpu, 5);
    site.user_job = limit(gpu, 1);
    ck_assert(site.allow(waiting_job()) == 5);
    site.account_group = limit(cpu, 2);  // another TRES
    ck_assert(site.allow(waiting_job()) == 2);
}

TEST(a_limit_of_the_partitions_qos_takes_precedence) {
    Site site;
    site.qos_group = site.account_group = limit(gpu, 2);
    site.partition_group = limit(gpu, 7);
    site.in_partition = used(3);
    JobRecord job = waiting_job();
    ck_assert(site.allow(job) == 2);  // its partition has no QOS
    job.partition_qos = "largest";
    ck_assert(site.allow(job) == 4);
    site.is_over_partition = true;
    ck_assert(site.allow(job) == 2);
    site.qos_group = unlimited();
    ck_assert(site.allow(job) == 4);
    site.partition_group = limit(cpu, 5);
    ck_assert(site.allow(job) == 2);  // the account's, and two CPUs
    site.account_group = limit(gpu, 1);
    ck_assert(site.allow(job) == 1);
}

TEST(a_parent_account_leaves_what_its_children_do_not_hold) {
    Site site;
    site.parent_group = limit(gpu, 8);
    site.in_parent = used(6);
    ck_assert(site.allow(waiting_job()) == 2);
    ck_assert(site.allow(running_job(4)) == 6);
    site.account = "chem";  // not below this account
    ck_assert(site.allow(waiting_job()) == std::nullopt);
}

TEST(limits_of_others_do_not_count) {
    Site site;
    site.account_group = site.user_group = limit(gpu, 2);
    site.account = "chem";
    ck_assert(site.allow(waiting_job()) == std::nullopt);
    site.account = "physics";
    site.user = 6;
    ck_assert(site.allow(waiting_job()) == 2);  // the account's
    site.account_group = unlimited();
    ck_assert(site.allow(waiting_job()) == std::nullopt);
    site.user = 5;
    site.partition = "large";  // its user's limit there
    ck_assert(site.allow(waiting_job()) == std::nullopt);
    site.partition = "main";
    ck_assert(site.allow(waiting_job()) == 2);
    Site other;
    other.qos_group = limit(gpu, 2);
    other.qos = "small";
    ck_assert(other.allow(waiting_job()) == std::nullopt);
    JobRecord rigid = waiting_job();
    rigid.intent.reset();
    ck_assert(site.allow(rigid) == std::nullopt);
}

TEST(a_limit_of_a_kind_applies_to_jobs_that_request_it) {
    Site site;
    site.qos_group = limit(a100, 2);
    ck_assert(site.allow(waiting_job()) == std::nullopt);
    JobRecord job = waiting_job();
    job.gpu_type = "a100";
    ck_assert(site.allow(job) == 2);
    job.gpu_type = "h100";
    ck_assert(site.allow(job) == std::nullopt);
}

TEST(cpus_scale_with_gpus) {
    Site site;
    site.qos_group = limit(cpu, 12);
    JobRecord job = waiting_job();
    job.cpus_per_task = 5;
    ck_assert(site.allow(job) == 2);
    job.intent->layout = {.gpus_per_node = 4, .task_per_node = true};
    ck_assert(site.allow(job) == 9);
    job.intent->layout.gpus_per_node = 0;  // depends on the nodes
    ck_assert(site.allow(job) == std::nullopt);
    // It requested one of each, and holds whole cores of two CPUs.
    JobRecord running = running_job(2);
    running.cpus_requested = 4;
    site.in_qos = used(8);
    ck_assert(site.allow(running) == 4);
}

TEST(nodes_scale_with_gpus) {
    Site site;
    site.qos_group = limit(node, 2);
    JobRecord job = waiting_job();
    ck_assert(site.allow(job) == 8);  // on as few nodes as possible
    job.intent->layout.gpus_per_node = 1;
    ck_assert(site.allow(job) == 2);
    JobRecord running = running_job(4);
    running.gpus_on_node = {{0, 4}};
    site.in_qos[node] = 1;
    ck_assert(site.allow(running) == 8);
    ck_assert(site.allow(waiting_job()) == std::nullopt);  // it may get the same node
    site.qos_job = limit(node, 1);
    ck_assert(site.allow(waiting_job()) == 4);
}

TEST(memory_scales_as_it_was_requested) {
    using Per = MemoryRequest::Per;
    Site site;
    site.qos_group = limit(mem, 3500);
    JobRecord job = waiting_job();
    ck_assert(site.allow(job) == std::nullopt);
    job.memory = {.per = Per::gpu, .mb = 1000};
    ck_assert(site.allow(job) == 3);
    job.memory = {.per = Per::cpu, .mb = 500};
    ck_assert(site.allow(job) == 7);
    job.cpus_per_task = 2;
    ck_assert(site.allow(job) == 3);
    job.memory = {.per = Per::node, .mb = 1500};
    ck_assert(site.allow(job) == 2 * kMostOnANode);  // a third node has no memory left
    for (const Per per : {Per::gpu, Per::cpu, Per::node}) {
        JobRecord running = running_job(2);
        running.memory = {.per = per, .mb = 1000};
        running.gpus_on_node = {{0, 1}, {1, 1}};
        site.in_qos[mem] = 3000;  // 2000 of them are its own
        ck_assert(site.allow(running) == (per == Per::node ? 2 * kMostOnANode : 2));
    }
}

TEST(billing_scales_with_the_runs_cost) {
    Site site;
    site.qos_group = limit(billing, 9);
    ck_assert(site.allow(waiting_job()) == std::nullopt);
    JobRecord job = running_job(2);
    job.billing = 3;
    site.in_qos[billing] = 5;
    ck_assert(site.allow(job) == 4);
}

TEST(the_shortfall_at_a_parent_account_or_the_partitions_qos) {
    using enum SharedLimit::What;
    Site site;
    site.account_group = limit(gpu, 8);
    site.parent_group = limit(gpu, 6);
    site.in_account = used(6);
    site.in_parent = used(6);
    JobRecord waiting = waiting_job();
    waiting.intent.reset();
    waiting.gpus_requested = 3;
    waiting.pending_reason = PendingReason::limit;
    waiting.at_limit = {.what = gpus, .of_account = true};
    std::vector<JobRecord> jobs{waiting, running_job(6)};
    site.note(jobs);
    ck_assert(jobs[0].at_limit.whose == "science" && jobs[0].at_limit.short_by == 3);
    ck_assert(jobs[1].accounts_above == (std::vector<std::string>{"science", "root"}));
    site.account_group = limit(gpu, 5);  // now the tighter one
    site.note(jobs);
    ck_assert(jobs[0].at_limit.whose.empty() && jobs[0].at_limit.short_by == 3);

    Site in_large;
    in_large.partition_group = limit(gpu, 4);
    in_large.in_partition = used(3);
    in_large.qos_group = limit(gpu, 2);  // does not apply in addition to it
    in_large.in_qos = used(2);
    waiting.at_limit = {.what = gpus, .of_qos = true};
    waiting.partition_qos = "largest";
    jobs = {waiting};
    in_large.note(jobs);
    ck_assert(jobs[0].at_limit.whose == "largest" && jobs[0].at_limit.short_by == 2);
    in_large.is_over_partition = true;
    in_large.note(jobs);
    ck_assert(jobs[0].at_limit.whose.empty() && jobs[0].at_limit.short_by == 3);
}

TEST(the_shortfall_at_a_memory_limit) {
    using Per = MemoryRequest::Per;
    Site site;
    site.qos_group = limit(mem, 4000);
    site.in_qos[mem] = 2000;
    JobRecord waiting = waiting_job();
    waiting.intent.reset();
    waiting.gpus_requested = 3;
    waiting.cpus_requested = 6;
    waiting.nodes_requested = 2;
    waiting.pending_reason = PendingReason::limit;
    waiting.at_limit = {.what = SharedLimit::What::memory, .of_qos = true};
    for (const auto &[per, mb, lacks] :
         std::vector<std::tuple<Per, uint64_t, int>>{{Per::gpu, 1000, 1000},
                                                     {Per::cpu, 500, 1000},
                                                     {Per::node, 1500, 1000},
                                                     {Per::gpu, 600, 0},
                                                     {Per::node, 1ULL << 40, 1 << 30},
                                                     {Per::node, 0, 0}}) {
        waiting.memory = {.per = per, .mb = mb};
        std::vector<JobRecord> jobs{waiting};
        site.note(jobs);
        ck_assert_int_eq(jobs[0].at_limit.short_by, lacks);
    }
}

// It may use the rest of its node, which counts as its own.
TEST(a_job_with_a_whole_node_holds_more_than_it_requested) {
    Site site;
    site.qos_group = limit(gpu, 4);
    site.account_group = limit(cpu, 64);
    site.in_qos[gpu] = 4;
    site.in_account[cpu] = 64;
    JobRecord job = running_job(1);
    job.cpus_requested = 64;
    job.gpus_on_node = {{0, 4}};
    ck_assert(site.allow(job) == 4);
}

// In a full queue jobs are listed rarely, and limits change between listings.
TEST(noted_limits_stay_until_the_next_answer) {
    using enum SharedLimit::What;
    Site site;
    site.account_group = limit(gpu, 6);
    site.in_account = used(6);
    std::vector<JobRecord> jobs{running_job(2), waiting_job()};
    jobs[1].pending_reason = PendingReason::limit;
    jobs[1].at_limit = {.what = gpus, .of_account = true};
    const JobRecord fresh = jobs[1];
    ck_assert(site.note(jobs) && !site.note(jobs));
    ck_assert(jobs[0].gpus_allowed == 2 && jobs[1].at_limit.short_by == 1);
    JobRecord seen_again = fresh;
    keep_noted(jobs[1], seen_again);
    ck_assert(seen_again == jobs[1]);
    seen_again = fresh;
    seen_again.at_limit = {.what = cpus, .of_account = true};
    keep_noted(jobs[1], seen_again);
    ck_assert(seen_again.at_limit.short_by == 0);
    site.account_group = limit(gpu, 7);
    ck_assert(site.note(jobs));
    ck_assert(jobs[0].gpus_allowed == 3 && jobs[1].at_limit.short_by == 0);
}

int main() { return ringrt::test::run_all("allowed_size"); }
