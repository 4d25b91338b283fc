// SPDX-License-Identifier: BSD-3-Clause
// Leaving for a resize: rank 0 asks Slurm for the job's requeue, and all ranks wait for the SIGTERM
// with which Slurm takes the job down. No rank leaves unless Slurm has really requeued the job.
#pragma once

#include <cstdint>
#include <string>

#include "libringrt/base/child_process.h"
#include "libringrt/base/group.h"
#include "libringrt/job/channel.h"
#include "libringrt/job/signal_watch.h"

namespace ringrt {

struct RequeueOptions {
    std::string job;                  // as scontrol names it
    uint64_t step = 0;                // that was saved
    job::Channel *channel = nullptr;  // asked first, on rank 0
    // On all ranks: SIGTERM may be that of a preemption, after which Slurm lets the job run on. So
    // nobody leaves for it before the requeue is done.
    bool sigterm_may_be_preemption = false;
    std::string scontrol = "scontrol";
    double leave_timeout_s = 60;  // from the first request until the resize is called off
    double again_s = 10;          // from a request that was accepted until the next
    double retry_s = 0.5;  // after a request that slurmctld did not answer; doubles up to again_s
    double command_timeout_s = 15;
};

// Is there such a program to run?
[[nodiscard]] bool can_be_run(const std::string &program);

// What Slurm's answer to `scontrol requeue` means.
enum class RequeueAnswer { accepted, refused, try_again };
[[nodiscard]] RequeueAnswer judge(const CommandResult &result);

// Rank 0's part: asks until SIGTERM comes (the caller sees that), a refusal, or the time-out.
class Requeue {
  public:
    explicit Requeue(RequeueOptions options) : options_(std::move(options)) {}

    // One look; false when the resize has to be called off, and why().
    bool go_on(double now_s);
    const std::string &why() const { return why_; }
    bool accepted() const { return accepted_; }

  private:
    void ask(double now_s);
    std::optional<CommandResult> poll_answer(double now_s);
    void judge_answer(const CommandResult &result, double now_s);

    RequeueOptions options_;
    Command command_;
    double channel_until_s_ = -1;  // how long its answer is awaited; −1: it was not asked
    double begun_s_ = -1;
    double next_s_ = 0;
    double retry_s_ = 0;
    bool accepted_ = false;
    bool refused_ = false;
    std::string last_answer_;
    std::string why_;
};

enum class Departure { leave, stay };

// Collective. `leave` once SIGTERM came to any rank; `stay` with why it was called off. The answer
// is the same on all ranks. `sigterm` counts on every rank since before the requeue can have
// happened.
Status await_departure(Group &group, const RequeueOptions &options, const SignalCounter &sigterm,
                       Departure &departure, std::string &why);

}  // namespace ringrt
