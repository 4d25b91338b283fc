// SPDX-License-Identifier: BSD-3-Clause
// A job's stage for every record and every intent, and the arrows of the drawing in stage.h.
#include <set>
#include <string>
#include <utility>

#include "tests/support/check.h"
#include "tests/support/perturbations.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::Intent;
using ringrt::records::IntentState;

namespace {

constexpr double kNow_s = 10'000;

// The parts of a record and an intent that determine the stage.
struct Facts {
    JobPhase phase;
    IntentState state;
    bool same_run;  // the intent belongs to the current run
    PendingReason reason;
    SlurmHold hold;
    enum Begin { past, slurms, pauses, somebodys } begin;  // the start time
};

JobRecord record_of(const Facts &f) {
    JobRecord job{.id = 7, .phase = f.phase, .pending_reason = f.reason, .submit_s = 9000};
    job.restarts = 3;
    job.end_s = kNow_s - 10;
    job.begin_s = f.begin == Facts::past     ? kNow_s - 5
                  : f.begin == Facts::slurms ? job.end_s + 121
                  : f.begin == Facts::pauses ? kNow_s + 500
                                             : kNow_s + 5000;
    job.gpus_requested = 4;
    return job;
}

// Derived from the text of stage.h and of the man page, not from the code.
Stage expected(const Facts &f) {
    const bool asked = f.state == IntentState::asked;
    switch (f.phase) {
        case JobPhase::finished:
            return Stage::ended;
        case JobPhase::completing:
            return Stage::completing;
        case JobPhase::suspended:
            return Stage::suspended;
        case JobPhase::running:
            if (!f.same_run || (f.state != IntentState::running && !asked)) return Stage::starting;
            return asked ? Stage::signalled : Stage::running;
        case JobPhase::pending:
            break;
    }
    // If the start time is still that of its requeue, the release was interrupted.
    const bool sized = f.state == IntentState::released && f.same_run &&
                       f.hold != SlurmHold::launch_failed && f.begin != Facts::slurms;
    const bool held = f.reason == PendingReason::held && f.hold == SlurmHold::none;
    if (held || f.reason == PendingReason::dependency) return Stage::held_back;
    const bool paused =
        f.state == IntentState::paused && f.same_run && f.hold != SlurmHold::launch_failed;
    if (paused && f.begin == Facts::pauses) return Stage::paused;
    if (f.begin == Facts::pauses || f.begin == Facts::somebodys) return Stage::held_back;
    // Any other start time of a paused job is a user's.
    if (paused) return f.begin == Facts::past ? Stage::eligible : Stage::held_back;
    return sized ? Stage::eligible : Stage::unsized;
}

std::string text_of(const Facts &f) {
    std::string out;
    for (const int part :
         {static_cast<int>(f.phase), static_cast<int>(f.state), int{f.same_run},
          static_cast<int>(f.reason), static_cast<int>(f.hold), static_cast<int>(f.begin)})
        out += std::to_string(part) + " ";
    return out;
}

template <typename Visit>
void for_all_facts(Visit visit) {
    for (int phase = 0; phase <= static_cast<int>(JobPhase::finished); ++phase)
        for (int state = 0; state <= static_cast<int>(IntentState::paused); ++state)
            for (const bool same_run : {false, true})
                for (int reason = 0; reason <= static_cast<int>(PendingReason::other); ++reason)
                    for (int hold = 0; hold <= static_cast<int>(SlurmHold::bad_constraints); ++hold)
                        for (int begin = 0; begin <= 3; ++begin)
                            visit(Facts{
                                static_cast<JobPhase>(phase), static_cast<IntentState>(state),
                                same_run, static_cast<PendingReason>(reason),
                                static_cast<SlurmHold>(hold), static_cast<Facts::Begin>(begin)});
}

}  // namespace

TEST(every_record_and_intent_has_its_stage) {
    int count = 0;
    std::set<Stage> seen;
    for_all_facts([&](const Facts &facts) {
        const JobRecord job = record_of(facts);
        const Intent intent{.gpus_min = 1,
                            .gpus_max = 8,
                            .state = facts.state,
                            .gpus = 2,
                            .target = 4,
                            .since_s = kNow_s - 8,
                            .begin_s = static_cast<int64_t>(kNow_s) + 500,
                            .run = facts.same_run ? 3 : 2};
        const Stage stage = stage_of(job, intent, facts.hold, {}, kNow_s);
        ck_assert_msg(stage == expected(facts), "%s: %s, expected %s", text_of(facts).c_str(),
                      std::string(to_string(stage)).c_str(),
                      std::string(to_string(expected(facts))).c_str());
        seen.insert(stage);
        ++count;
    });
    ck_assert_int_eq(count, 5 * 5 * 2 * 9 * 3 * 4);
    ck_assert_uint_eq(seen.size(), kStages);
}

// Slurm may have done only part of an update: the record is released but the size is not set, or a
// hold intervened and the start time is still that of the requeue.
TEST(a_partial_release_does_not_count) {
    JobRecord job{.id = 7, .submit_s = 9990, .restarts = 1};
    job.end_s = 9990;
    const Intent intent{.gpus_max = 8,
                        .state = IntentState::released,
                        .gpus = 2,
                        .target = 4,
                        .since_s = 9995,
                        .run = 1};
    const auto stage = [&](int gpus, double begin_s, PendingReason reason) {
        job.gpus_requested = gpus, job.begin_s = begin_s, job.pending_reason = reason;
        return stage_of(job, intent, SlurmHold::none, {}, kNow_s);
    };
    constexpr PendingReason kBegin = PendingReason::begin_time;
    ck_assert(stage(2, 10'050, kBegin) == Stage::unsized);
    // Complete: only the size differs, because a user or administrator has set it since.
    ck_assert(stage(2, 9996, kBegin) == Stage::eligible);
    ck_assert(stage(4, 10'111, PendingReason::held) == Stage::held_back);
    ck_assert(stage(4, 10'111, kBegin) == Stage::unsized);
    ck_assert(stage(4, 10'060, kBegin) == Stage::held_back);  // another start time: set by a user
}

TEST(a_new_job_waits_for_its_users_start_time) {
    JobRecord job{.id = 7, .submit_s = 9995, .begin_s = 10'005};
    Intent intent{.gpus_max = 8};
    ck_assert(stage_of(job, intent, SlurmHold::none, {}, kNow_s) == Stage::unsized);
    intent.begin_s = 10'005;
    ck_assert(stage_of(job, intent, SlurmHold::none, {}, kNow_s) == Stage::held_back);
    intent.begin_s = 0;
    job.begin_s = 10'060;  // submit_hold_s is less
    ck_assert(stage_of(job, intent, SlurmHold::none, {}, kNow_s) == Stage::held_back);
    ck_assert(stage_of(job, intent, SlurmHold::none, {.submit_s = 100}, kNow_s) == Stage::unsized);
}

// It ran after that time, and the clock was set back since.
TEST(a_start_time_before_the_last_start_is_over) {
    const JobRecord job{.id = 7, .submit_s = 9990, .end_s = 9999, .begin_s = 10'600};
    Intent intent{.gpus_max = 8, .state = IntentState::asked, .gpus = 8, .target = 4};
    ck_assert(stage_of(job, intent, SlurmHold::none, {}, kNow_s) == Stage::held_back);
    intent.start_s = 10'602;
    ck_assert(stage_of(job, intent, SlurmHold::none, {}, kNow_s) == Stage::unsized);
}

// ---- the drawing --------------------------------------------------------------------------------

namespace {

using Arrow = std::pair<Stage, Stage>;

// As drawn in stage.h.
std::set<Arrow> drawn() {
    using enum Stage;
    std::set<Arrow> arrows{{unsized, eligible},   {eligible, starting}, {starting, running},
                           {running, signalled},  {signalled, running}, {completing, unsized},
                           {suspended, starting}, {suspended, running}, {suspended, completing},
                           {unsized, starting},   {held_back, unsized}, {held_back, eligible},
                           {unsized, paused},     {paused, eligible},   {paused, starting},
                           {held_back, paused}};
    for (const Stage stage : {starting, running, signalled}) {
        arrows.insert({stage, completing});
        arrows.insert({stage, suspended});
    }
    for (const Stage stage : {completing, unsized, eligible, paused})
        arrows.insert({stage, held_back});
    for (const Stage stage : {completing, held_back, unsized, eligible, paused})
        arrows.insert({stage, ended});
    return arrows;
}

Stage stage_in(const FakeCluster &cluster, uint32_t id, const Options &options) {
    const JobRecord &job = cluster.job(id);
    return stage_of(job, cluster.intent(id), job.slurm_hold, holds_of(options), cluster.now_s());
}

// A job that shrinks, or pauses, and grows. An event happens at some moment, before the cluster's
// turn, or between its turn and the controller's.
class Followed {
  public:
    Followed(const Perturbation &perturbation, double after_s, bool late, bool pauses,
             std::set<Arrow> &taken)
        : world_({4, 4}, pauses ? pausing_options() : quick_options()),
          happening_(perturbation),
          begins_s_(world_.cluster.now_s() + after_s),
          taken_(taken) {
        world_.cluster.may_pause = pauses;
        id_ = world_.cluster.submit_malleable(1, 8, {.steps = 250, .telemetry_s = 1});
        last_ = stage_in(world_.cluster, id_, world_.options);
        const double start_s = world_.cluster.now_s();
        const double ends_s = start_s + after_s + 40 + perturbation.lasts_s;
        while (world_.cluster.now_s() < ends_s && last_ != Stage::ended) {
            if (!second_ && world_.cluster.now_s() >= start_s + 5) {
                second_ = true;
                world_.cluster.submit_malleable(1, pauses ? 8 : 4, {.steps = 20, .telemetry_s = 1});
            }
            if (!late) happen();
            world_.cluster.advance(FakeCluster::kTick_s);
            watch();
            if (late) happen();
            if (world_.cluster.now_s() > world_.away_until_s)
                world_.controller->pass(world_.cluster.now_s());
            watch();
        }
    }

  private:
    void happen() {
        if (!begun_ && world_.cluster.now_s() >= begins_s_) {
            begun_ = true;
            happening_.begin(world_, id_);
        } else if (begun_ && !over_ && world_.cluster.now_s() >= begins_s_ + happening_.lasts_s) {
            over_ = true;
            if (happening_.end) happening_.end(world_, id_);
        }
        watch();
    }
    void watch() {
        const Stage now = stage_in(world_.cluster, id_, world_.options);
        if (now != last_) taken_.insert({last_, now});
        last_ = now;
    }

    World world_;
    const Perturbation &happening_;
    double begins_s_;
    std::set<Arrow> &taken_;
    uint32_t id_ = 0;
    Stage last_ = Stage::ended;
    bool second_ = false, begun_ = false, over_ = false;
};

void hold(World &world, uint32_t id) { world.cluster.hold(id, true); }
void suspend(World &world, uint32_t id) { world.cluster.suspend(id, true); }
void cancel(World &world, uint32_t id) { world.cluster.cancel_as_user(id); }

}  // namespace

// A crash of slurmctld may take a job from any stage to any other. All other changes follow the
// arrows, and each arrow occurs.
TEST(the_stages_follow_the_drawing) {
    const Perturbation perturbations[] = {
        {"cancel", cancel},
        {"hold", hold, 5, [](World &w, uint32_t id) { w.cluster.hold(id, false); }},
        {"hold, cancel", hold, 3, cancel},
        {"suspend", suspend, 3, [](World &w, uint32_t id) { w.cluster.suspend(id, false); }},
        {"suspend, cancel", suspend, 3, cancel},
        {"requeue", [](World &w, uint32_t id) { w.cluster.requeue(id); }},
        {"node", [](World &w, uint32_t) { w.cluster.lose_node(0); }, 4,
         [](World &w, uint32_t) { w.return_node(0); }},
        {"away", [](World &w, uint32_t) { w.go_away(20); }},
        {"ignores", [](World &w, uint32_t id) { w.cluster.ignore_signals(id); }},
        {"start time", [](World &w, uint32_t id) { w.cluster.set_begin(id, w.cluster.now_s()); }},
        {"long away", [](World &w, uint32_t) { w.go_away(610); }, 610},
    };
    std::set<Arrow> taken;
    for (double after_s = 0; after_s < 20; after_s += FakeCluster::kTick_s)
        for (const Perturbation &perturbation : perturbations)
            for (const bool late : {false, true})
                for (const bool pauses : {false, true})
                    Followed(perturbation, after_s, late, pauses, taken);
    for (const auto &[from, to] : taken)
        ck_assert_msg(drawn().contains({from, to}), "%s -> %s is not drawn",
                      std::string(to_string(from)).c_str(), std::string(to_string(to)).c_str());
    for (const auto &[from, to] : drawn())
        ck_assert_msg(taken.contains({from, to}), "%s -> %s is never taken",
                      std::string(to_string(from)).c_str(), std::string(to_string(to)).c_str());
}

int main() { return ringrt::test::run_all("stage", 300); }
