// SPDX-License-Identifier: BSD-3-Clause
// Leaves for a resize: rank 0 asks Slurm to requeue the job, and all ranks wait for the SIGTERM
// with which Slurm stops it. No rank leaves before Slurm has requeued the job.
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
    uint64_t step = 0;                // the step that was saved
    job::Channel *channel = nullptr;  // on rank 0, tried before scontrol
    // On all ranks: SIGTERM may announce a preemption, in which case the job keeps running. No rank
    // then leaves for it before the requeue is accepted.
    bool sigterm_may_be_preemption = false;
    std::string scontrol = "scontrol";
    double leave_timeout_s = 60;  // from the first request until the resize is called off
    double again_s = 10;          // between an accepted request and the next
    double retry_s = 0.5;  // after a request that slurmctld did not answer; doubles up to again_s
    double command_timeout_s = 15;
};

// Whether `program` exists and is executable.
[[nodiscard]] bool can_be_run(const std::string &program);

// The meaning of Slurm's answer to `scontrol requeue`.
enum class RequeueAnswer { accepted, refused, try_again };
[[nodiscard]] RequeueAnswer judge(const CommandResult &result);

// Rank 0's part: asks until a refusal or the timeout. The caller detects SIGTERM.
class Requeue {
  public:
    explicit Requeue(RequeueOptions options) : options_(std::move(options)) {}

    // One poll; false if the resize must be called off, with the reason in why().
    bool poll(double now_s);
    const std::string &why() const { return why_; }
    bool accepted() const { return accepted_; }

  private:
    void ask(double now_s);
    std::optional<CommandResult> poll_answer(double now_s);
    void judge_answer(const CommandResult &result, double now_s);

    RequeueOptions options_;
    Command command_;
    double channel_until_s_ = -1;  // deadline for its answer; −1: no request pending
    double begun_s_ = -1;
    double next_s_ = 0;
    double retry_s_ = 0;
    bool accepted_ = false;
    bool refused_ = false;
    std::string last_answer_;
    std::string why_;
};

enum class Departure { leave, stay };

// Collective. `leave` when any rank has received SIGTERM; `stay`, with the reason, if the resize
// was called off. The result is the same on all ranks. `sigterm` must count on every rank from
// before the requeue can take effect.
Status await_departure(Group &group, const RequeueOptions &options, const SignalCounter &sigterm,
                       Departure &departure, std::string &why);

}  // namespace ringrt
