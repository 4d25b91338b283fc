// SPDX-License-Identifier: BSD-3-Clause
// Slurm in virtual time (sim/slurm/slurmctld.h) with everything that can go wrong, for the
// controller's tests: users and administrators (fake_faults.cpp), refusals and lost answers
// (fake_requests.cpp), and a slurmctld that is killed and loses its latest state. It records every
// rule that the controller breaks.
//
// Two halves are separate, as in reality: slurmctld's records (`Ctld`, which kill() sets back to an
// older state) and the processes on the nodes (`Real`, which nothing sets back).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "libringrt/job/loss_curve.h"
#include "sim/slurm/slurmctld.h"
#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::test {

using controller::JobPhase;
using controller::JobRecord;
using controller::Liveness;
using controller::PendingReason;
using controller::RpcStatus;

// How a job's program behaves.
struct Program {
    double steps = 200;   // until it ends with status 0
    double step_s = 1;    // on one GPU
    double scales = 0.9;  // the part of it that is divided by the number of GPUs; < 0: slows down
    double noise = 0;     // each run's steps take up to this part more or less
    double start_s = 1;   // from its start until the runtime is up
    double save_s = 0.5;
    double telemetry_s = 5;     // 0: it reports nothing
    bool keeps_speeds = false;  // its checkpoints have the step time of each size
    bool heeds_signal = true;   // saves and requeues itself
    bool says_left = true;      // reports how many steps are left
    double loss_goal = 0;       // for a program that does not: its loss reaches this after `steps`
    int grace_s = 20;
    int fails_from = 0, fails_to = 1 << 20;  // failing sizes: it ends with 1 once up; 0: none
    bool has_handler_late = false;           // a signal before the runtime is up is lost
};

struct Faults {
    double busy = 0, unreachable = 0, lost_answer = 0, refused = 0;  // probability per call
};

class FakeCluster : public controller::Cluster, public controller::EventSink {
  public:
    explicit FakeCluster(std::vector<int> node_gpus, uint64_t seed = 1);

    uint32_t submit_malleable(int min, int max, const Program &program, int gpus = 0,
                              std::optional<int64_t> time_limit_s = {}, double begin_in_s = 0);
    uint32_t submit_rigid(int gpus, double duration_s, double priority = 1, int nodes = 1);
    void advance(double seconds);  // in steps of kTick_s

    // What users, administrators and failures do.
    void cancel_as_user(uint32_t id);
    void hold(uint32_t id, bool on);
    void fail_launch(uint32_t id);  // Slurm requeues and holds it
    void suspend(uint32_t id, bool on);
    void requeue(uint32_t id);
    void set_begin(uint32_t id, double begin_s);
    void set_cpus_per_task(uint32_t id, int cpus) { ctld_.at(id).record.cpus_per_task = cpus; }
    void set_any_shares(uint32_t id, int nodes_most) {  // --gpus only
        ctld_.at(id).record.any_shares = true;
        ctld_.at(id).record.nodes_most = nodes_most;
    }
    void set_user(uint32_t id, uint32_t user) { ctld_.at(id).record.user_id = user; }
    void set_constraints(uint32_t id, uint64_t sum) { ctld_.at(id).record.constraints = sum; }
    void set_nice(uint32_t id, int64_t nice) {
        ctld_.at(id).own_nice = ctld_.at(id).record.nice = nice;
    }
    void allow_pause(uint32_t id, bool on);  // as job_submit records it
    void set_time_limit(uint32_t id, int64_t limit_s);
    // Removes --time from a job under its QOS's MaxWall: Slurm sets that limit at each start, and
    // shows the partition's MaxTime (none: unlimited) while the job is pending.
    void leave_time_limit(uint32_t id, int64_t wall_s, std::optional<int64_t> most_s);
    void set_layout(uint32_t id, const records::Layout &layout);  // as job_submit records it
    void break_program(uint32_t id) { real_.at(id).program.fails_from = 1; }  // from its next start
    void ignore_signals(uint32_t id) { real_.at(id).program.heeds_signal = false; }
    void remove_record(uint32_t id);       // leaves only the site's text in its AdminComment
    void set_gpus(uint32_t id, int gpus);  // of a running job, on the nodes that it holds
    void lose_node(int node, bool back = false);
    void drain_node(int node) { node_drained_[node] = true; }  // what runs there may stay
    // From now on the controller sees the job as it is now, until it queries or changes the job.
    void freeze(uint32_t id) { frozen_[id] = ctld_.at(id).record; }
    void kill(double lost_s);  // kill -9 of slurmctld, and a restart from the state of lost_s ago

    RpcStatus observe(controller::Observation &out) override;
    RpcStatus write_intent(uint32_t id, const std::string &admin_comment,
                           const controller::Settings &settings) override;
    RpcStatus update_pending(uint32_t id, const controller::PendingUpdate &update) override;
    RpcStatus signal_steps(uint32_t id, int signal) override;
    RpcStatus confirm_run(uint32_t id) override;
    Liveness probe_run(uint32_t id) override;
    RpcStatus requeue_running(uint32_t id) override;
    RpcStatus requeue_ended(uint32_t id) override;
    RpcStatus complete(uint32_t id) override;
    RpcStatus cancel(uint32_t id) override;
    RpcStatus bill_anew(uint32_t id) override {
        billed.push_back(job(id).gpus_requested);
        return RpcStatus::ok;
    }
    void write(const controller::Event &event) override { events.push_back(event); }

    [[nodiscard]] const JobRecord &job(uint32_t id) const { return ctld_.at(id).record; }
    // The mails that its user received about its runs: one per start and one per requeue.
    [[nodiscard]] int mails_of(uint32_t id) const { return ctld_.at(id).mails; }
    [[nodiscard]] records::Intent intent(uint32_t id) const;
    [[nodiscard]] bool is_over() const;  // every job has finished
    [[nodiscard]] bool is_paused(uint32_t id) const;
    // Pending malleable jobs that are neither held nor paused, while GPUs for their MIN are free
    // and no rigid job is pending.
    [[nodiscard]] std::vector<uint32_t> malleable_that_could_start() const;
    // Running on record, but gone from their nodes. The end of a job that failed is left to Slurm.
    [[nodiscard]] std::vector<uint32_t> gone() const;
    [[nodiscard]] int count(controller::EventKind kind) const;
    [[nodiscard]] double run_time_s(uint32_t id) const { return real_.at(id).run_time_s; }
    [[nodiscard]] double lost_steps(uint32_t id) const { return real_.at(id).lost_steps; }
    [[nodiscard]] bool completed(uint32_t id) const { return real_.at(id).completed; }
    [[nodiscard]] double now_s() const { return now_s_; }
    [[nodiscard]] std::string story(uint32_t id = 0) const;  // the events, for a failure message

    static constexpr double kTick_s = sim::kTick_s;
    Faults faults;
    double launch_s = 20;  // after this time from its start, its node can be asked about a job
    RpcStatus next_answer =
        RpcStatus::ok;             // result of the next call that changes something, then ok again
    double staging_s = 0;          // how long data is staged before each start
    bool next_held = false;        // its user's hold interrupts the next update of a pending job
    bool next_lost = false;        // the next such call takes effect, but its answer is lost
    int calls = 0;                 // calls that change something
    bool may_pause = false;        // every job; else those whose record says so
    int gpus_allowed = 1 << 20;    // a limit: a larger size is refused
    int node_cpus = 0;             // of each node; 0: not known
    int gpus_placeable = 1 << 20;  // a job that asks for more is held: no node can satisfy it
    int completing_node = -1;      // it starts no job, although its GPUs are listed as free
    int resizes_in_flight_most = 8;  // the controller's configured value
    std::vector<controller::Event> events;
    std::vector<int> billed;  // sizes at which jobs were billed anew
    std::vector<std::string> violations;

  private:
    struct Ctld {
        JobRecord record;
        bool malleable = false, held = false, requeued = false, cancelled = false, failed = false;
        double revoked_s = -1e9;  // when its last credential was revoked
        double completing_until_s = 0;
        double ghost_until_s = 0;  // recorded as running until then, though gone (after kill())
        double own_begin_s = 0;    // a start time that its user set
        int64_t own_nice = 0;
        int mails = 0;                                      // about its runs
        std::optional<int64_t> limit_wall_s, limit_most_s;  // for a job without --time
        double suspended_at_s = 0;
    };
    struct Real {
        Program program;
        bool alive = false, up = false, flagged = false, completed = false, failed = false;
        int run = -1;  // incarnation
        double started_s = 0, save_until_s = 0, slurmctld_s = 0;
        double step = 0, saved_step = 0, first_step = 0;
        double run_time_s = 0, lost_steps = 0;
        job::LossCurve losses;  // in its checkpoints
        double slowness = 1;
        std::map<int, double> speeds_ms;
        double ends_s = 0;  // for a rigid job
    };

    void tick();
    void run_program(uint32_t id, Ctld &ctld, Real &real);
    static void note_loss(Real &real);
    void report(Ctld &ctld, Real &real);
    void stop(Ctld &ctld, Real &real, bool requeued);
    void finish_completing(Ctld &ctld);
    void schedule();
    bool start(uint32_t id, Ctld &ctld, Real &real);
    void settle_after_kill();
    RpcStatus requeue_gone(uint32_t id);
    [[nodiscard]] bool was_completed(uint32_t id) const;
    [[nodiscard]] bool is_open(std::size_t node) const {
        return node_up_[node] && !node_drained_[node];
    }
    [[nodiscard]] bool is_placeable(const JobRecord &record) const;
    [[nodiscard]] std::vector<int> free_gpus() const;
    [[nodiscard]] bool answers(RpcStatus &answer);
    [[nodiscard]] bool loses_answer();
    [[nodiscard]] bool waits_long(const Ctld &ctld) const;
    [[nodiscard]] bool is_silent(uint32_t id, const Ctld &ctld) const;
    void check_list(uint32_t id, const JobRecord &record);
    void check_mails(uint32_t id, const JobRecord &record);
    void check_ask(uint32_t id, const Ctld &ctld, const records::Intent &after);
    void violation(uint32_t id, const std::string &text);

    double now_s_ = 1763721600;
    std::mt19937_64 random_;
    std::vector<int> node_gpus_;
    std::vector<bool> node_up_, node_drained_;
    uint32_t next_id_ = 1;
    std::map<uint32_t, Ctld> ctld_;
    std::map<uint32_t, Real> real_;
    std::map<uint32_t, JobRecord> frozen_;     // as the controller sees them
    std::map<uint32_t, uint32_t> highest_id_;  // the highest resize id seen per job
    std::deque<std::pair<double, std::map<uint32_t, Ctld>>> saved_;
};

}  // namespace ringrt::test
