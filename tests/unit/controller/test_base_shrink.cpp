// SPDX-License-Identifier: BSD-3-Clause
// A base gives up whole nodes: pass by pass, from the order to the smaller size, and every way out.
#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/base_shrink.h"
#include "slurm_plugin/controller/live_resize.h"
#include "tests/support/check.h"

using namespace ringrt::controller;
using namespace ringrt::test;
namespace records = ringrt::records;

namespace {

using Kind = Action::Kind;

// A base of 7 GPUs on the nodes 1, 2 and 4, which have 4, 2 and 1 of them.
struct Base {
    Base() {
        for (const char *name : {"a", "b", "c", "d", "e"}) nodes.push_back({.name = name});
        record.gpus_requested = 7;
        record.gpus_on_node = {{1, 4}, {2, 2}, {4, 1}};
        job.record = &record;
        job.intent = {.gpus_min = 1, .gpus_max = 8, .grace_s = 60, .gpus = 7, .since_s = 990};
        job.stage = Stage::running;
        job.is_live = true;
        computes(7, {1, 2, 4});
        tracker.signalled_s = 999;
    }
    void computes(int gpus, const std::vector<int> &on) {
        record.telemetry = records::Telemetry{.gpus = gpus, .step = 9, .up = true, .live = true};
        for (const int node : on)
            record.telemetry->nodes += records::node_checksum(nodes[size_t(node)].name);
    }
    [[nodiscard]] PassContext pass() const {
        return {.now_s = 1000, .nodes = nodes, .can_keep_nodes = can, .may_ask = may_ask};
    }
    std::optional<Action> next(int wanted) {
        Target target;
        target.job = {.id = 7, .gpus_now = record.gpus_requested};
        target.allotment.gpus = target.placeable_gpus = wanted;
        return next_live_action(job, target, tracker, pass(), {});
    }
    std::optional<Kind> kind(int wanted) {
        const std::optional<Action> action = next(wanted);
        return action ? std::optional(action->kind) : std::nullopt;
    }
    bool can = true, may_ask = true;
    std::vector<NodeRecord> nodes;
    JobRecord record{.id = 7, .phase = JobPhase::running};
    MalleableJob job;
    JobTracker tracker;
};

}  // namespace

TEST(the_first_nodes_with_exactly_these_gpus) {
    Base base;
    base.record.gpus_on_node = {{4, 1}, {1, 4}, {2, 2}};
    ck_assert(first_nodes(base.record, 4, base.nodes) == std::vector<int>{1});
    ck_assert(first_nodes(base.record, 6, base.nodes) == (std::vector<int>{1, 2}));
    ck_assert(first_nodes(base.record, 5, base.nodes).empty());
    ck_assert(first_nodes(base.record, 8, base.nodes).empty());
    ck_assert(first_nodes(base.record, 0, base.nodes).empty());
}

TEST(whole_nodes_are_asked_to_leave) {
    Base base;
    const std::optional<Action> action = base.next(4);
    ck_assert(action && action->kind == Kind::shrink_base);
    ck_assert_int_eq(action->intent.keep, 4);
    ck_assert_int_eq(action->intent.gpus, 7);
    ck_assert_str_eq(action->event->text.c_str(),
                     "shrinks in place: all ranks but the first 4 are asked to leave");
    base.may_ask = false;
    ck_assert(base.kind(4) == Kind::nothing);
}

// nullopt: a requeue follows.
TEST(everything_else_is_a_requeue) {
    ck_assert(!Base().kind(2));  // part of a node
    Base base;
    base.can = false;
    ck_assert(!base.kind(4));
    base = {};
    base.job.record = &base.record;
    base.computes(7, {1, 2, 3});  // other nodes than Slurm shows
    ck_assert(!base.kind(4));
    base.record.telemetry->nodes = 0;
    ck_assert(!base.kind(4));
    base.computes(6, {1, 2, 4});
    ck_assert(!base.kind(4));
    base.computes(7, {1, 2, 4});
    base.record.telemetry->run = 3;  // of another run
    ck_assert(!base.kind(4));
    base.record.telemetry->run = 0;
    ck_assert(base.kind(4) == Kind::shrink_base);
    base.tracker.shrinks.failed(60, 999);
    ck_assert(!base.kind(4));
}

TEST(no_node_is_taken_before_its_ranks_have_left) {
    Base base;
    base.job.intent.keep = 4;
    ck_assert(base.kind(4) == Kind::nothing);
    base.tracker.signalled_s = 0;
    ck_assert(base.kind(4) == Kind::signal_base);
    base.computes(4, {1, 2});  // four ranks, but on other nodes
    ck_assert(base.kind(4) == Kind::signal_base);
    base.computes(4, {2});
    ck_assert(base.kind(4) == Kind::signal_base);
    base.computes(4, {1});
    const std::optional<Action> action = base.next(4);
    ck_assert(action && action->kind == Kind::return_nodes);
    ck_assert(action->nodes == std::vector<int>{1});
    ck_assert_str_eq(action->event->text.c_str(), "its ranks have left 2 nodes: returned to Slurm");
}

TEST(the_smaller_size_is_noted) {
    Base base;
    base.job.intent.keep = 4;
    base.computes(4, {1});
    base.record.gpus_requested = 4;
    base.record.gpus_on_node = {{1, 4}};
    const std::optional<Action> action = base.next(4);
    ck_assert(action && action->kind == Kind::note);
    ck_assert_int_eq(action->intent.keep, 0);
    ck_assert_int_eq(action->intent.gpus, 4);
    ck_assert_str_eq(action->event->text.c_str(), "resized in place: 4 GPUs (were 7)");
}

// The controller's order may be lost with it, and the ranks have left: the reports suffice.
TEST(nodes_that_were_left_are_returned_without_an_order) {
    Base base;
    base.computes(6, {1, 2});
    ck_assert(base.kind(7) == Kind::return_nodes);
}

TEST(ranks_that_do_not_leave_are_called_off) {
    Base base;
    base.job.intent.keep = 4;
    base.job.intent.since_s = 900;
    const std::optional<Action> action = base.next(4);
    ck_assert(action && action->kind == Kind::end_shrink);
    ck_assert_int_eq(action->intent.keep, 0);
    ck_assert_str_eq(action->event->text.c_str(),
                     "its ranks did not leave their nodes within 60 s: called off");
}

// Ranks that wait on nodes that Slurm does not take would wait forever.
TEST(a_refusal_is_followed_by_a_requeue) {
    Base base;
    base.job.intent.keep = 4;
    base.computes(4, {1});
    base.tracker.shrinks.failed(60, 999);
    const std::optional<Action> action = base.next(7);
    ck_assert(action && action->kind == Kind::ask);
    ck_assert_int_eq(action->intent.target, 4);
    ck_assert_int_eq(action->intent.keep, 0);
    ck_assert(action->intent.state == records::IntentState::asked);
    base.may_ask = false;
    ck_assert(base.kind(7) == Kind::nothing);
}

int main() { return run_all("base shrink"); }
