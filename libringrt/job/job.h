// SPDX-License-Identifier: BSD-3-Clause
// A rank's part in a malleable job, apart from what it saves: what the scheduler asks, the
// agreement at a step's end, the requeue, and the reports. ringrt_t (step.h) and ringrt_job_t
// (api/job.h) run on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "libringrt/checkpoint/save.h"
#include "libringrt/job/progress.h"
#include "libringrt/job/reporter.h"
#include "libringrt/job/requeue.h"
#include "libringrt/job/settings.h"
#include "libringrt/job/signal_watch.h"
#include "libringrt/job/slurm_link.h"
#include "libringrt/job/step_vote.h"

namespace ringrt::job {

// Training can continue after a failed save. After any other error the ranks cannot continue.
inline bool is_fatal(const Status &outcome) {
    return !outcome.ok() && outcome.code != RINGRT_CHECKPOINT_FAILED;
}

class Job {
  public:
    Job(const Settings &settings, Group &group)
        : settings_(settings), group_(group), progress_(settings, group.size()) {}

    // Starts to listen for the scheduler's signal and to report.
    Status start();

    [[nodiscard]] bool leads() const { return group_.rank() == 0; }
    [[nodiscard]] SlurmLink &slurm() { return slurm_; }
    [[nodiscard]] const SlurmLink &slurm() const { return slurm_; }
    [[nodiscard]] Progress &progress() { return progress_; }
    [[nodiscard]] const Progress &progress() const { return progress_; }
    [[nodiscard]] uint64_t step() const { return step_; }             // the last finished one
    [[nodiscard]] int64_t saved_step() const { return saved_step_; }  // −1: none
    [[nodiscard]] bool is_asked() const { return slurm_.requests() != served_; }
    // What this job adds to a checkpoint.
    [[nodiscard]] checkpoint::Meta meta(uint64_t step) const;

    // A step begins here. Its time is measured until end_step().
    void begin_step();
    void end_step(uint64_t step);
    void advance(uint64_t step);

    // This rank's part of the agreement at a step's end.
    [[nodiscard]] StepFlags wishes();
    // Collective. Every rank's flags in one message. Ends the process here if Slurm ends the job.
    Status agree(uint64_t step, const StepFlags &mine, StepFlags &agreed);
    // Like agree(), when `vote` already holds the votes of all ranks.
    Status judge(const StepVote &vote, uint64_t step, StepFlags &agreed);

    // A resize: begin_leaving(), a save, then leave() with its outcome. leave() is collective: rank
    // 0 asks for the requeue, and all wait for the end of the run. The action remains CONTINUE if
    // the resize was called off.
    void begin_leaving();
    Status leave(const Status &saved, ringrt_action_t &action);
    void stay_cut_off();  // instead of a save, which would otherwise cost training at every request

    // Afterwards the next periodic save is due after the whole interval.
    void put_off_save();
    void saved(uint64_t step, double save_ms);  // committed; 0 ms: not known
    // Continues from a checkpoint; load_s: how long it took; −1: not known.
    void restored(const checkpoint::Manifest &manifest, double load_s);
    void not_restored(const std::string &why);
    // Takes another rank's position, after a resize in place.
    void go_to(uint64_t step, uint64_t samples, uint32_t global_batch);

    // `add` may fill in more.
    void report(uint64_t step, const std::function<void(records::Telemetry &)> &add = {});
    void stop_reports() { reporter_.reset(); }
    void log(const std::string &line) const;  // at rank 0

  private:
    Status name_other_step(uint64_t step);
    void cancel_resize(const std::string &why);

    const Settings &settings_;
    Group &group_;
    SlurmLink slurm_;
    std::unique_ptr<SignalCounter> sigterm_;  // from begin_leaving() until it is called off
    std::unique_ptr<Reporter> reporter_;
    Progress progress_;
    uint32_t served_ = 0;        // signals already answered
    double ignore_until_s_ = 0;  // after a resize that was called off
    double step_begun_s_ = 0, next_save_s_ = 0, leaving_begun_s_ = 0;
    uint64_t step_ = 0;        // last finished step
    uint64_t timed_step_ = 0;  // last step whose end end_step() saw
    int64_t saved_step_ = -1;  // of the newest checkpoint
    double save_ms_ = 0;
    double first_step_end_s_ = 0, began_s_ = 0;  // Unix times; 0: not known yet
};

}  // namespace ringrt::job
