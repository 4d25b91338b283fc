// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/requeue.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "libringrt/base/clock.h"

namespace ringrt {
namespace {

struct Phrase {
    const char *words;  // in Slurm's answer
    RequeueAnswer meaning;
};
// Slurm has one exit code for all failures, so the text decides (slurm_errno.c, 22.05 to 26.05).
// After any other text the request is repeated, until the timeout.
constexpr std::array kPhrases = {
    Phrase{"pending execution", RequeueAnswer::accepted},   // an earlier request succeeded
    Phrase{"already completing", RequeueAnswer::accepted},  // the job is being stopped
    Phrase{"disabled", RequeueAnswer::refused},             // sbatch --no-requeue, JobRequeue=0
    Phrase{"denied", RequeueAnswer::refused},
    Phrase{"Invalid job id", RequeueAnswer::refused},
    Phrase{"Only batch jobs", RequeueAnswer::refused},
    Phrase{"No such file", RequeueAnswer::refused},  // no scontrol
    Phrase{"Permission", RequeueAnswer::refused},
};

std::string first_line(const std::string &output) {
    std::string line = output.substr(0, output.find('\n'));
    return line.substr(0, 120);
}

void sleep_s(double seconds) {
    timespec time{.tv_sec = static_cast<time_t>(seconds),
                  .tv_nsec = static_cast<long>(seconds * 1e9) % 1000000000};
    nanosleep(&time, nullptr);
}

// What one rank sends to the others in a round of waiting.
struct Round {
    uint32_t sigterm = 0;
    uint32_t cancel_resize = 0;  // rank 0
    uint32_t requeued = 0;       // rank 0
    char why[184] = {};
};

}  // namespace

bool can_be_run(const std::string &program) {
    const auto is_program = [](const std::string &path) { return access(path.c_str(), X_OK) == 0; };
    if (program.find('/') != program.npos) return is_program(program);
    const char *directories = getenv("PATH");
    std::istringstream list(directories ? directories : "/bin:/usr/bin");
    for (std::string directory; std::getline(list, directory, ':');)
        if (is_program((directory.empty() ? "." : directory) + "/" + program)) return true;
    return false;
}

RequeueAnswer judge(const CommandResult &result) {
    if (result.exit_code == 0) return RequeueAnswer::accepted;
    for (const Phrase &phrase : kPhrases)
        if (result.output.find(phrase.words) != std::string::npos) return phrase.meaning;
    return RequeueAnswer::try_again;
}

bool Requeue::poll(double now_s) {
    if (begun_s_ < 0) {
        begun_s_ = next_s_ = now_s;
        retry_s_ = options_.retry_s;
    }
    if (command_.running() || channel_until_s_ >= 0) {
        if (auto result = poll_answer(now_s)) judge_answer(*result, now_s);
    } else if (now_s >= next_s_ && !refused_) {
        ask(now_s);
    }
    if (refused_) {
        why_ = "Slurm refused the requeue (" + last_answer_ +
               "): submit with --requeue, and check that scontrol runs in the job";
        return false;
    }
    if (now_s - begun_s_ < options_.leave_timeout_s) return true;
    why_ =
        accepted_
            ? format_text("no SIGTERM within %.0f s of the requeue", options_.leave_timeout_s)
            : format_text("slurmctld did not answer within %.0f s (%s)", options_.leave_timeout_s,
                          last_answer_.empty() ? "no answer" : last_answer_.c_str());
    return false;
}

void Requeue::ask(double now_s) {
    if (options_.channel != nullptr && options_.channel->ask_requeue(options_.step)) {
        channel_until_s_ = now_s + options_.command_timeout_s;
        return;
    }
    // "incomplete": only while the job runs. Without it, a job that was just cancelled would run
    // again.
    command_.start({options_.scontrol, "requeue", "incomplete", options_.job},
                   options_.command_timeout_s);
}

// A channel that is lost or does not answer is not used again: scontrol may succeed.
std::optional<CommandResult> Requeue::poll_answer(double now_s) {
    if (channel_until_s_ < 0) return command_.poll();
    std::optional<CommandResult> answer = options_.channel->take_answer();
    if (!answer && options_.channel->is_there() && now_s < channel_until_s_) return std::nullopt;
    channel_until_s_ = -1;
    if (answer) return answer;
    options_.channel = nullptr;
    return CommandResult{.exit_code = -1, .output = "the channel to Slurm does not answer"};
}

void Requeue::judge_answer(const CommandResult &result, double now_s) {
    last_answer_ = first_line(result.output);
    switch (judge(result)) {
        case RequeueAnswer::accepted:
            accepted_ = true;
            next_s_ = now_s + options_.again_s;
            break;
        case RequeueAnswer::refused:
            // After an accepted request, "Invalid job id" and similar mean that the job is gone.
            refused_ = !accepted_;
            next_s_ = now_s + options_.again_s;
            break;
        case RequeueAnswer::try_again:
            next_s_ = now_s + retry_s_;
            retry_s_ = std::min(2 * retry_s_, options_.again_s);
            break;
    }
}

Status await_departure(Group &group, const RequeueOptions &options, const SignalCounter &sigterm,
                       Departure &departure, std::string &why) {
    Requeue requeue(options);
    const double begun_s = monotonic_s();
    const uint32_t ended_before = options.channel ? options.channel->ended() : 0;
    const auto is_ended = [&] {
        return sigterm.count() > 0 ||
               (options.channel != nullptr && options.channel->ended() != ended_before);
    };
    for (bool first = true;; first = false) {
        // The first round sends no request: a SIGTERM seen in it has another cause.
        Round mine{.sigterm = is_ended()};
        const double now_s = monotonic_s();
        if (!first && group.rank() == 0 && !requeue.poll(now_s)) {
            mine.cancel_resize = 1;
            std::memcpy(mine.why, requeue.why().data(),
                        std::min(requeue.why().size(), sizeof mine.why - 1));
        }
        mine.requeued = requeue.accepted();
        std::vector<Round> all;
        Status gathered = gather(group, mine, all);
        bool any = std::ranges::any_of(all, [](const Round &round) { return round.sigterm != 0; });
        // A peer that Slurm has already killed cannot answer; this rank's own SIGTERM confirms it.
        if (!gathered.ok() && !is_ended()) return gathered;
        if (!gathered.ok() || (any && (all[0].requeued || !options.sigterm_may_be_preemption))) {
            departure = Departure::leave;
            why = first && gathered.ok() ? "SIGTERM" : "";
            return {};
        }
        if (all[0].cancel_resize) {
            departure = Departure::stay;
            why = all[0].why;
            return {};
        }
        sleep_s(now_s - begun_s < 5 ? 0.01 : 0.05);
    }
}

}  // namespace ringrt
