// SPDX-License-Identifier: BSD-3-Clause
// The steps for a training that is resized in place, pass by pass: how many extensions join or
// leave at once, and their sizes.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/live_resize.h"
#include "slurm_plugin/controller/waiting.h"
#include "tests/support/check.h"

using namespace ringrt::controller;
using namespace ringrt::test;
namespace records = ringrt::records;

namespace {

using Kind = Action::Kind;

// A base of one GPU with range 1:16, and extensions of these sizes, numbered 8, 9 … at levels 1, 2
// …
struct Training {
    explicit Training(std::initializer_list<int> extended, int base_gpus = 1) {
        int level = 0;
        base.gpus_requested = base_gpus;
        for (const int gpus : extended) {
            JobRecord record{.id = static_cast<uint32_t>(8 + level), .phase = JobPhase::running};
            record.gpus_requested = gpus;
            record.extension = records::Extension{.base = 7, .level = ++level};
            parts.push_back(record);
            base.gpus_requested += gpus;
        }
        job.record = &base;
        job.intent = {.gpus_min = 1, .gpus_max = 16, .gpus = base.gpus_requested};
        job.stage = Stage::running;
        job.is_live = true;
        for (const JobRecord &part : parts)
            job.extensions.push_back({.record = &part, .stage = ExtensionStage::joined});
    }
    // Toward `wanted`, if `placeable` GPUs are available now.
    [[nodiscard]] Target target(int wanted, int placeable) const {
        Target target;
        target.job = {.id = 7, .gpus_now = base.gpus_requested};
        target.allotment.gpus = wanted;
        target.placeable_gpus = placeable;
        return target;
    }
    std::optional<Action> next(int wanted, int placeable) {
        return next(target(wanted, placeable));
    }
    std::optional<Action> next(const Target &target, const Options &options = {}) {
        return next_live_action(job, target, tracker,
                                {.now_s = 1000, .gpus_per_node = 4, .may_ask = true}, options);
    }
    JobRecord base{.id = 7, .phase = JobPhase::running};
    std::vector<JobRecord> parts;
    MalleableJob job;
    JobTracker tracker;
};

std::vector<std::pair<int, int>> levels_and_gpus(const Action &action) {
    std::vector<std::pair<int, int>> out;
    for (const Action::Doubling &each : action.doublings)
        out.emplace_back(each.level, each.size.gpus);
    return out;
}

std::vector<uint32_t> leaving(const Action &action) {
    std::vector<uint32_t> out;
    for (const Action::Leaving &each : action.leaving) {
        ck_assert(each.record.base == 7 && each.record.asked_s == 1000);
        out.push_back(each.extension);
    }
    return out;
}

using Levels = std::vector<std::pair<int, int>>;
using Numbers = std::vector<uint32_t>;

}  // namespace

TEST(each_doubling_is_a_separate_extension) {
    const std::optional<Action> action = Training({}).next(8, 8);
    ck_assert(action && action->kind == Kind::extend);
    ck_assert(levels_and_gpus(*action) == (Levels{{1, 1}, {2, 2}, {3, 4}}));
    ck_assert_int_eq(action->event->from, 1);
    ck_assert_int_eq(action->event->to, 8);
    ck_assert_str_eq(action->event->text.c_str(),
                     "grows in place: extensions of 1, 2, 4 GPUs are submitted");
    const std::optional<Action> more = Training({1}).next(16, 16);
    ck_assert(levels_and_gpus(*more) == (Levels{{2, 2}, {3, 4}, {4, 8}}));
}

TEST(a_training_grows_into_free_gpus) {
    ck_assert(levels_and_gpus(*Training({}).next(16, 4)) == (Levels{{1, 1}, {2, 2}}));
    const std::optional<Action> one = Training({}).next(16, 2);
    ck_assert(levels_and_gpus(*one) == (Levels{{1, 1}}));
    ck_assert_str_eq(one->event->text.c_str(),
                     "grows in place: an extension of 1 GPU is submitted");
    ck_assert(Training({}).next(16, 1)->kind == Kind::nothing);
    Training refused({});
    refused.tracker.growth.failed(60, 990);
    ck_assert(refused.next(16, 16)->kind == Kind::nothing);
}

TEST(the_last_ones_leave_together) {
    const std::optional<Action> all = Training({1, 2, 4}).next(1, 1);
    ck_assert(all && all->kind == Kind::dismiss);
    ck_assert(leaving(*all) == (Numbers{10, 9, 8}));
    ck_assert_int_eq(all->event->to, 1);
    ck_assert_str_eq(all->event->text.c_str(),
                     "shrinks in place: extensions 10, 9, 8 are signalled to leave");
    const std::optional<Action> half = Training({1, 2, 4}).next(4, 4);
    ck_assert(leaving(*half) == (Numbers{10}));
    ck_assert_str_eq(half->event->text.c_str(),
                     "shrinks in place: extension 10 is signalled to leave");
}

// A base that started with two GPUs: only a requeue makes it smaller.
TEST(the_base_keeps_its_gpus) {
    ck_assert(leaving(*Training({2}, 2).next(1, 1)) == (Numbers{8}));
    ck_assert(!Training({}, 2).next(1, 1));
}

// A new run has reported nothing yet. A requeue waits for its first report, but not forever, and
// not to give GPUs back.
TEST(no_run_is_requeued_before_its_first_report) {
    const auto kind_after = [](double started_s, int wanted, std::optional<int> told_of_run,
                               bool told_live) {
        Training training({}, 2);
        training.job.is_live = false;
        training.job.intent.live = true;
        training.base.start_s = started_s;
        if (told_of_run)
            training.base.telemetry = records::Telemetry{.run = *told_of_run, .live = told_live};
        Options options;
        options.resize = Resize::live;
        const std::optional<Action> action =
            training.next(training.target(wanted, wanted), options);
        return action ? std::optional(action->kind) : std::nullopt;
    };
    constexpr std::optional<Kind> kRequeue;
    ck_assert(kind_after(999, 4, std::nullopt, false) == Kind::nothing);
    ck_assert(kind_after(800, 4, std::nullopt, false) == kRequeue);
    ck_assert(kind_after(999, 1, std::nullopt, false) == kRequeue);
    ck_assert(kind_after(999, 4, 0, false) == kRequeue);      // it reported that it cannot
    ck_assert(kind_after(999, 4, 9, true) == Kind::nothing);  // reported by an earlier run
    ck_assert(kind_after(999, 4, 9, false) == kRequeue);
}

// The middle extension was lost: those above it leave first.
TEST(a_size_off_the_ladder_is_left) {
    Training training({1, 4});
    ck_assert(leaving(*training.next(16, 16)) == (Numbers{9}));
}

TEST(no_new_step_while_an_extension_joins_or_leaves) {
    for (const ExtensionStage stage :
         {ExtensionStage::pending, ExtensionStage::joining, ExtensionStage::leaving}) {
        Training training({1, 2});
        training.job.extensions[0].stage = stage;
        training.tracker.signalled_s = 1000;
        training.parts[0].submit_s = training.parts[0].extension->asked_s = 1000;
        for (const int wanted : {1, 16}) {
            const std::optional<Action> action = training.next(wanted, wanted);
            ck_assert(action && action->kind == Kind::nothing && action->poll_fast);
        }
    }
}

// A pending job needs GPUs: the last extension is cancelled if it has not joined, also if it never
// will.
TEST(an_extension_that_has_not_joined_is_given_up) {
    for (const ExtensionStage stage : {ExtensionStage::pending, ExtensionStage::joining}) {
        Training training({1, 2});
        training.job.extensions[1].stage = stage;
        training.parts[1].submit_s = 1000;
        const std::optional<Action> action = training.next(1, 1);
        ck_assert(action && action->kind == Kind::cancel_extension && action->extension == 9);
        ck_assert(training.next(4, 4)->kind == Kind::nothing);
        Target kept = training.target(1, 1);
        kept.job.pinned = true;
        ck_assert(training.next(kept)->kind == Kind::nothing);
    }
}

// If one GPU is free on each of two nodes, an extension of two gets one node for each rank.
TEST(scattered_gpus_are_a_shape_that_fits) {
    Training training({}, 2);
    training.job.intent.gpus_min = 2;
    Target target = training.target(4, 4);
    target.part_nodes = {2};
    const std::optional<Action> action = training.next(target);
    ck_assert(action && levels_and_gpus(*action) == (Levels{{1, 2}}));
    const PendingUpdate::Size size = action->doublings.at(0).size;
    ck_assert(size.nodes == 2 && size.tasks == 2);
    target.part_nodes = {1};
    const PendingUpdate::Size on_one = training.next(target)->doublings.at(0).size;
    ck_assert_int_eq(on_one.nodes, 1);
}

// Slurm starts the same number of tasks on each node, so each has the same number of GPUs.
TEST(every_size_is_shared_evenly_by_its_nodes) {
    for (int node = 1; node <= 16; ++node)
        for (int layout = 0; layout <= node; ++layout)
            for (int gpus = 1; gpus <= 300; ++gpus) {
                const PassContext pass{.gpus_per_node = node};
                const auto size = size_with({.gpus_per_node = layout}, gpus, pass, {});
                const int most = layout > 0 ? layout : node;
                ck_assert_int_eq(size.gpus % size.nodes, 0);
                ck_assert(size.tasks == gpus && gpus / size.nodes <= most);
                for (int fewer = 1; fewer < size.nodes; ++fewer)
                    ck_assert(gpus % fewer != 0 || gpus / fewer > most);
            }
}

namespace {

// Four nodes of four GPUs; a training of two on n0, and rigid jobs with this many GPUs of each
// node.
struct Site {
    explicit Site(const std::vector<int> &rigid) {
        seen.now_s = 5000;
        for (int node = 0; node < 4; ++node) seen.nodes.push_back({.gpus = 4});
        JobRecord base{.id = 1, .phase = JobPhase::running, .start_s = 4000, .gpus_requested = 2};
        base.gpus_on_node = {{0, 2}};
        base.intent = records::Intent{.gpus_min = 2, .gpus_max = 8};
        base.intent->state = records::IntentState::running;
        base.intent->gpus = 2;
        base.intent->run = 0;
        base.intent->base_step = 0;
        base.telemetry =
            records::Telemetry{.gpus = 2, .step = 1000, .step_ms = 100, .up = true, .live = true};
        seen.jobs.push_back(base);
        for (int node = 0; node < 4; ++node) hold(node, rigid[static_cast<std::size_t>(node)]);
    }
    void hold(int node, int gpus) {
        if (gpus == 0) return;
        JobRecord job{.id = 10 + static_cast<uint32_t>(seen.jobs.size()),
                      .phase = JobPhase::running,
                      .gpus_requested = gpus};
        job.gpus_on_node = {{node, gpus}};
        seen.jobs.push_back(job);
    }
    // With an extension of two GPUs that has not joined.
    void extend() {
        part = {.id = 2, .phase = JobPhase::running, .gpus_requested = 2};
        part.extension = records::Extension{.base = 1, .level = 1};
        seen.jobs[0].gpus_requested = 4;
        seen.jobs[0].gpus_on_node = {{0, 4}};
    }
    [[nodiscard]] Target target() const {
        const Options options{.settle_s = 1, .payback = 0, .resize = Resize::live};
        std::vector<MalleableJob> jobs = malleable_jobs(seen, options);
        if (part.id != 0)
            jobs.at(0).extensions = {{.record = &part, .stage = ExtensionStage::joining}};
        jobs.at(0).is_live = is_live(seen.jobs[0], jobs[0].intent, options);
        ck_assert(jobs[0].is_live);
        return decide(seen, jobs, {}, options).targets.at(0);
    }
    Observation seen;
    JobRecord part;
};

}  // namespace

// While it joins, the training is left alone; a pending rigid job gets the GPUs.
TEST(a_rigid_job_gets_the_gpus_of_an_extension_that_has_not_joined) {
    Site site({0, 4, 4, 2});
    site.extend();
    const Target quiet = site.target();
    ck_assert(quiet.job.pinned && quiet.allotment.gpus == 4);
    JobRecord waits{.id = 30, .submit_s = 4990, .gpus_requested = 3};
    waits.pending_reason = PendingReason::resources;
    site.seen.jobs.push_back(waits);
    ck_assert_int_eq(site.target().allotment.gpus, 4);  // more than it could get
    site.seen.jobs.back().gpus_requested = 2;
    ck_assert_int_eq(site.target().allotment.gpus, 4);  // two are idle
    site.hold(3, 1);
    ck_assert_int_eq(site.target().allotment.gpus, 2);
}

TEST(a_training_grows_into_scattered_gpus_and_stays_there) {
    Site site({2, 3, 3, 4});
    Target target = site.target();
    ck_assert_int_eq(target.allotment.gpus, 4);
    ck_assert_int_eq(target.placeable_gpus, 4);
    ck_assert(target.part_nodes == std::vector<int>{2});
    Site grown({2, 3, 3, 4});
    JobRecord &base = grown.seen.jobs[0];
    base.gpus_requested = base.intent->gpus = base.telemetry->gpus = 4;
    base.gpus_on_node = {{0, 2}, {1, 1}, {2, 1}};
    ck_assert_int_eq(grown.target().allotment.gpus, 4);  // it keeps the size that it reached
    grown.seen.jobs.back().gpus_on_node = {{3, 2}};      // two more are free: no place for four
    ck_assert_int_eq(grown.target().allotment.gpus, 4);
    // A layout per node is kept.
    site.seen.jobs[0].intent->layout = {.gpus_per_node = 2};
    target = site.target();
    ck_assert_int_eq(target.allotment.gpus, 2);
}

int main() { return ringrt::test::run_all("live_resize"); }
