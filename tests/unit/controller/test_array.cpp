// SPDX-License-Identifier: BSD-3-Clause
// Arrays: one record stands for many pending tasks, and a task that leaves a full array loses its
// place.
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/explain.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::policy::NodeShare;
using ringrt::records::IntentState;

namespace {

struct Site {
    Observation seen;
    Options options;

    explicit Site(const std::vector<int> &nodes) {
        options.mode = Mode::act;
        seen.now_s = 5000;
        for (const int gpus : nodes)
            seen.nodes.push_back({.name = "n" + std::to_string(seen.nodes.size()),
                                  .gpus = gpus,
                                  .partitions = {"main"}});
    }
    JobRecord &add(int min, int max, const std::vector<NodeShare> &nodes) {
        int gpus = 0;
        for (const auto &[node, here] : nodes) gpus += here;
        seen.jobs.push_back({.id = static_cast<uint32_t>(seen.jobs.size() + 1),
                             .partition = "main",
                             .submit_s = 4000,
                             .priority = 10,
                             .gpus_requested = nodes.empty() ? min : gpus});
        JobRecord &job = seen.jobs.back();
        if (!nodes.empty()) {
            job.phase = JobPhase::running;
            job.start_s = 4000;
            job.gpus_on_node = nodes;
        }
        set_intent(job, {.gpus_min = min,
                         .gpus_max = max,
                         .state = nodes.empty() ? IntentState::queued : IntentState::running,
                         .first_gpus = max,
                         .gpus = gpus,
                         .run = 0});
        return job;
    }
    [[nodiscard]] Plan plan() const { return decide(seen, jobs(), {}, options); }
    [[nodiscard]] std::vector<MalleableJob> jobs() const { return malleable_jobs(seen, options); }
    [[nodiscard]] std::vector<int> sizes() const {
        std::vector<int> out;
        for (const Target &target : plan().targets) out.push_back(target.allotment.gpus);
        return out;
    }
};

}  // namespace

TEST(all_waiting_tasks_are_counted) {
    Site site({4, 4, 4, 4});
    JobRecord &array = site.add(1, 8, {});
    for (const auto &[tasks, gpus] : std::vector<std::pair<int, int>>{
             {1, 8}, {2, 8}, {3, 4}, {4, 4}, {5, 2}, {8, 2}, {16, 1}, {1000, 1}}) {
        array.tasks_waiting = tasks;
        ck_assert_msg(site.sizes() == std::vector<int>{gpus}, "%d tasks: %d GPUs", tasks,
                      site.sizes().at(0));
    }
}

// Compared with as many separate jobs as tasks: the other jobs get the same sizes in both forms.
TEST(an_array_weighs_as_much_as_its_tasks_would_alone) {
    for (int tasks = 1; tasks <= 9; ++tasks) {
        Site together({4, 4, 4}), alone({4, 4, 4});
        for (Site *site : {&together, &alone}) {
            site->add(1, 8, {{0, 4}, {1, 4}});
            site->add(2, 4, {{2, 4}});
        }
        together.add(1, 4, {}).tasks_waiting = tasks;
        for (int i = 0; i < tasks; ++i) alone.add(1, 4, {});
        const std::vector<int> a = together.sizes(), b = alone.sizes();
        ck_assert_msg(a.at(0) == b.at(0) && a.at(1) == b.at(1), "%d tasks: %d and %d, alone %d, %d",
                      tasks, a.at(0), a.at(1), b.at(0), b.at(1));
        ck_assert_int_eq(a.at(2), *std::min_element(b.begin() + 2, b.end(), [](int x, int y) {
                             return (x == 0 ? 1000 : x) < (y == 0 ? 1000 : y);
                         }));
    }
}

TEST(a_running_task_counts_as_one_job) {
    Site site({4, 4});
    site.add(1, 8, {{0, 4}}).tasks_waiting = 5;  // left from before its start
    ck_assert(site.sizes() == std::vector<int>{8});
}

TEST(no_task_grows_out_of_a_full_array) {
    Site site({4, 4});
    JobRecord &task = site.add(1, 8, {{0, 2}});
    ck_assert(site.sizes() == std::vector<int>{8});
    task.array_at_limit = true;
    ck_assert(site.sizes() == std::vector<int>{2});
    EXPECT_TEXT(explain(site.seen, site.options).at(0).text.substr(0, 6), "2 GPUs");
    ck_assert(
        explain(site.seen, site.options)
            .at(0)
            .text.ends_with(
                "; no more than 2 GPUs because another task of its array would take its place"));
    ck_assert(!may_move(site.jobs().at(0), {}, site.seen.now_s, site.options));
    // It still gives GPUs back: a job that cannot start at all takes precedence over its place.
    task.gpus_requested = 8;
    task.gpus_on_node = {{0, 4}, {1, 4}};
    task.intent->gpus = 8;
    site.add(4, 4, {});
    ck_assert(site.sizes() == (std::vector<int>{4, 4}));
}

// In place it does not leave.
TEST(a_full_array_grows_in_place) {
    Site site({4, 4});
    site.add(1, 8, {{0, 2}}).array_at_limit = true;
    std::vector<MalleableJob> jobs = site.jobs();
    jobs.at(0).is_live = true;
    ck_assert_int_eq(decide(site.seen, jobs, {}, site.options).targets.at(0).allotment.gpus, 8);
}

int main() { return ringrt::test::run_all("array"); }
