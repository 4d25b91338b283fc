// SPDX-License-Identifier: BSD-3-Clause
// A job that waits at a limit of an account or QOS gets back what malleable jobs under that limit
// have borrowed. No job is to exceed the limits.
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/shared_limit.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using What = SharedLimit::What;

namespace {

// Four nodes of four GPUs. Every malleable job has the range 1 to 4 and runs alone on its node.
struct Site {
    Observation seen;

    Site() {
        seen.now_s = 5000;
        for (int i = 0; i < 4; ++i)
            seen.nodes.push_back({.name = "n" + std::to_string(i), .gpus = 4});
    }
    JobRecord &add(const std::string &account, uint32_t user, int gpus) {
        seen.jobs.push_back({.id = static_cast<uint32_t>(seen.jobs.size() + 1),
                             .user_id = user,
                             .submit_s = 4000,
                             .priority = 10,
                             .gpus_requested = gpus,
                             .account = account,
                             .qos = "normal"});
        return seen.jobs.back();
    }
    void add_malleable(const std::string &account, uint32_t user, int gpus) {
        const int node = static_cast<int>(seen.jobs.size());
        JobRecord &job = add(account, user, gpus);
        job.phase = JobPhase::running;
        job.start_s = 4000;
        job.gpus_on_node = {{node, gpus}};
        set_intent(job, {.gpus_min = 1,
                         .gpus_max = 4,
                         .state = ringrt::records::IntentState::running,
                         .gpus = gpus,
                         .run = 0});
    }
    // In account a, by user 1.
    void add_waiting(const SharedLimit &limit) {
        JobRecord &job = add("a", 1, 4);
        job.pending_reason = PendingReason::limit;
        job.at_limit = limit;
    }
    void ask_first(int target, double since_s) {
        ringrt::records::Intent intent = *seen.jobs[0].intent;
        intent.state = ringrt::records::IntentState::asked;
        intent.target = target;
        intent.asked_s = intent.since_s = since_s;
        intent.why = "gave_to_rigid";
        set_intent(seen.jobs[0], intent);
    }
    // The size of each malleable job, in order.
    void expect_sizes(const std::vector<int> &sizes) const {
        const Options options{.settle_s = 1, .payback = 0};
        const Plan plan = decide(seen, malleable_jobs(seen, options), {}, options);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const Target &target = plan.targets.at(i);
            ck_assert_int_eq(target.allotment.gpus, sizes[i]);
            ck_assert_int_eq(target.placeable_gpus, sizes[i]);
            const bool gives = sizes[i] < seen.jobs[i].gpus_requested && !target.job.pinned;
            ck_assert(!gives || target.allotment.reason == ringrt::policy::Reason::gave_to_rigid);
            ck_assert(!gives || !target.gap_contended);
        }
    }
};

// Jobs of users 1 and 2 in account a, and of user 3 in account b.
Site three_jobs() {
    Site site;
    site.add_malleable("a", 1, 4);
    site.add_malleable("a", 2, 4);
    site.add_malleable("b", 3, 4);
    return site;
}

TEST(jobs_under_the_same_limit_give_the_shortfall) {
    const auto with = [](const SharedLimit &limit) {
        Site site = three_jobs();
        site.add_waiting(limit);
        return site;
    };
    with({.what = What::gpus, .of_account = true, .short_by = 1}).expect_sizes({2, 4, 4});
    with({.what = What::gpus, .of_account = true, .short_by = 3}).expect_sizes({2, 2, 4});
    with({.what = What::gpus, .of_account = true, .short_by = 6}).expect_sizes({1, 1, 4});
    with({.what = What::cpus, .of_account = true, .short_by = 4}).expect_sizes({2, 2, 4});
    with({.what = What::gpus, .of_account = true, .of_user = true, .short_by = 3})
        .expect_sizes({1, 4, 4});
    with({.what = What::gpus, .of_qos = true, .short_by = 5}).expect_sizes({2, 2, 2});
}

TEST(memory_is_given_as_it_was_requested) {
    using Per = MemoryRequest::Per;
    const auto with = [](const MemoryRequest &memory, int short_by) {
        Site site = three_jobs();
        for (JobRecord &job : site.seen.jobs) job.memory = memory;
        site.add_waiting({.what = What::memory, .of_account = true, .short_by = short_by});
        return site;
    };
    for (const Per per : {Per::gpu, Per::cpu}) {
        with({.per = per, .mb = 100}, 150).expect_sizes({2, 4, 4});
        with({.per = per, .mb = 100}, 250).expect_sizes({2, 2, 4});
        with({.per = per, .mb = 100}, 601).expect_sizes({4, 4, 4});  // of 600 borrowed
    }
    with({.per = Per::node, .mb = 100}, 50).expect_sizes({4, 4, 4});  // it keeps its node
    with({}, 50).expect_sizes({4, 4, 4});                             // not known
}

TEST(jobs_under_a_parent_account_or_the_partitions_qos_give_as_well) {
    Site site = three_jobs();
    for (const std::size_t i : {1, 2}) site.seen.jobs[i].accounts_above = {"science", "root"};
    site.add_waiting({.what = What::gpus, .of_account = true, .whose = "science", .short_by = 3});
    site.expect_sizes({4, 2, 2});
    site = three_jobs();
    for (const std::size_t i : {0, 2}) site.seen.jobs[i].partition_qos = "largest";
    site.add_waiting({.what = What::gpus, .of_qos = true, .whose = "largest", .short_by = 3});
    site.expect_sizes({2, 4, 2});
}

TEST(no_job_is_asked_in_vain) {
    for (const SharedLimit &limit : {
             SharedLimit{.what = What::gpus, .of_account = true, .short_by = 7},  // of 6 borrowed
             SharedLimit{.what = What::nodes, .of_account = true, .short_by = 1},
             SharedLimit{.what = What::gpus, .of_account = true},   // not known
             SharedLimit{.what = What::other, .of_account = true},  // for example jobs
         }) {
        Site site = three_jobs();
        site.add_waiting(limit);
        site.expect_sizes({4, 4, 4});
    }
}

TEST(resizes_in_progress_count) {
    Site site = three_jobs();
    site.add_waiting({.what = What::gpus, .of_account = true, .short_by = 2});
    site.ask_first(2, site.seen.now_s - 2);
    site.expect_sizes({2, 4, 4});
    // Another job is pending. Its shortfall includes the first job's, and is unknown until the
    // first starts.
    site.add_waiting({.what = What::gpus, .of_account = true, .short_by = 2});
    site.expect_sizes({2, 4, 4});
    // The first one does not answer: another gives, though not enough for both.
    site.ask_first(2, site.seen.now_s - 30);
    site.expect_sizes({2, 2, 4});
}

TEST(no_job_under_the_limit_grows_meanwhile) {
    Site site;
    site.add_malleable("a", 2, 2);
    site.add_malleable("b", 3, 2);
    site.add_waiting({.what = What::nodes, .of_account = true, .short_by = 1});
    const Options options{.settle_s = 1, .payback = 0};
    const Plan plan = decide(site.seen, malleable_jobs(site.seen, options), {}, options);
    ck_assert(plan.targets.at(0).gap_contended);
    ck_assert(!plan.targets.at(1).gap_contended);
    ck_assert_int_eq(plan.targets.at(1).allotment.gpus, 4);
}

// A job that leaves would lose its licences to one that waits for them. The other limits of the
// waiting job's user do not matter then.
TEST(no_job_that_holds_awaited_licences_grows) {
    Site site;
    site.add_malleable("a", 1, 2);
    site.add_malleable("b", 3, 2);
    site.seen.jobs[1].licences = {"viewer", "solver"};
    site.add_waiting({.of_licences = true});
    site.seen.jobs[2].licences = {"solver"};
    const Options options{.settle_s = 1, .payback = 0};
    const Plan plan = decide(site.seen, malleable_jobs(site.seen, options), {}, options);
    ck_assert(!plan.targets.at(0).gap_contended);
    ck_assert(plan.targets.at(1).gap_contended);
    // Its account's GPU minutes: of the same account, not of the same user.
    site.seen.jobs[0].account = "c";
    site.seen.jobs[1].account = "a";
    site.seen.jobs[2].at_limit = {.of_account = true, .of_time = true};
    const Plan by_time = decide(site.seen, malleable_jobs(site.seen, options), {}, options);
    ck_assert(!by_time.targets.at(0).gap_contended);
    ck_assert(by_time.targets.at(1).gap_contended);
}

// With gpus_allowed of the first job, whose range is 1 to 4.
int size_of(Site site, int allowed) {
    const Options options{.settle_s = 1, .payback = 0};
    site.seen.jobs[0].gpus_allowed = allowed;
    const Plan plan = decide(site.seen, malleable_jobs(site.seen, options), {}, options);
    ck_assert_int_eq(plan.targets.at(0).placeable_gpus, plan.targets.at(0).allotment.gpus);
    return plan.targets.at(0).allotment.gpus;
}

TEST(no_job_leaves_for_a_size_that_limits_do_not_allow) {
    Site site;
    site.add_malleable("a", 1, 2);
    site.expect_sizes({4});
    ck_assert_int_eq(size_of(site, 4), 4);
    ck_assert_int_eq(size_of(site, 100), 4);
    ck_assert_int_eq(size_of(site, 3), 2);
    // Nor is it asked to shrink to a limit that was lowered meanwhile.
    ck_assert_int_eq(size_of(site, 1), 2);
    ck_assert_int_eq(size_of(site, 0), 2);
    // A pending rigid job can still make it shrink, as without a limit.
    site.add_waiting({.what = What::gpus, .of_account = true, .short_by = 1});
    ck_assert_int_eq(size_of(site, 2), 1);
}

TEST(a_job_starts_with_the_size_that_limits_allow) {
    Site site;
    site.add_malleable("a", 1, 2);
    JobRecord &job = site.seen.jobs[0];
    job.phase = JobPhase::pending;
    job.start_s = 0;
    job.gpus_on_node.clear();
    set_intent(job, {.gpus_min = 1, .gpus_max = 4});
    site.expect_sizes({});
    ck_assert_int_eq(size_of(site, 4), 4);
    ck_assert_int_eq(size_of(site, 3), 2);
    ck_assert_int_eq(size_of(site, 0), 1);  // and stays pending with that size
}

TEST(extensions_in_a_separate_qos_are_under_its_limits) {
    Site site;
    site.add_malleable("a", 1, 2);
    site.seen.jobs[0].gpus_allowed = 2;
    Options options;
    MalleableJob job = malleable_jobs(site.seen, options).at(0);
    job.is_live = true;
    ck_assert(size_below_limits(job, options) == 2);
    options.extension_qos = "scavenger";
    ck_assert(size_below_limits(job, options) == std::nullopt);
    job.is_live = false;  // it grows by a requeue
    ck_assert(size_below_limits(job, options) == 2);
}

}  // namespace

int main() { return run_all("shared_limit"); }
