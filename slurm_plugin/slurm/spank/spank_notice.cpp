// SPDX-License-Identifier: GPL-2.0-or-later
// One plain line in the job's output when a resize ends the old run, and one when the new run
// starts. Slurm's own lines ("CANCELLED ... DUE TO JOB REQUEUE", "tasks 0-3: Terminated") look like
// a crash.
//
// Written by the batch step's slurmstepd, whose stderr is the job's: no file is opened here.
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "slurm_plugin/channel/child_call.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/base/loaded_job.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "slurm_plugin/slurm/spank/sbatch_flags.h"
#include "slurm_plugin/slurm/spank/spank_contexts.h"

namespace ringrt::slurm {
namespace {

constexpr double kAnswerWait_s = 2;

struct Seen {
    records::Intent intent;
    bool requeued = false;  // slurmctld already lists the job as pending
};

// What slurmctld reports of the job: its state as a letter, and its record.
std::string look_up(uint32_t job_id) {
    LoadedJob job;
    if (job.load(job_id) != SLURM_SUCCESS || !job) return {};
    const auto intent = records::parse_intent(admin_comment_of(*job));
    const bool waits = (job->job_state & JOB_STATE_BASE) == JOB_PENDING;
    return (waits ? "w " : "- ") + (intent ? records::format_intent(*intent) : std::string());
}

std::optional<Seen> ask_slurmctld(uint32_t job_id) {
    channel::ChildCall call;
    if (!call.start([&] { return look_up(job_id); }, kAnswerWait_s)) return std::nullopt;
    const std::string text = call.wait();
    const auto intent = records::parse_intent(text);
    return intent ? std::optional<Seen>({*intent, text[0] == 'w'}) : std::nullopt;
}

void say(const std::string &line) {
    const std::string whole = "ringrt: " + line + "\n";
    if (write(STDERR_FILENO, whole.data(), whole.size()) < 0) return;  // nowhere to report it
}

// BestGain for best_gain, in ringstat's format.
std::string shown_reason(const std::string &reason) {
    std::string out;
    bool starts = true;
    for (const char c : reason) {
        if (c == '_') {
            starts = true;
            continue;
        }
        const bool raised = std::exchange(starts, false) && c >= 'a' && c <= 'z';
        out += raised ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return out;
}

std::string gpus_text(int gpus) { return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs"); }

bool is_malleable_script(spank_t spank) {
    uint32_t step = 0;
    char range[2];
    return spank_remote(spank) == 1 &&
           spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step == SLURM_BATCH_SCRIPT &&
           spank_getenv(spank, kFlags[0].in_job, range, sizeof range) != ESPANK_ENV_NOEXIST;
}

}  // namespace

// Only the record shows whether this is a restart: Slurm does not report it to the batch step. The
// old size is left out if the controller has already recorded that the job runs.
void report_restart(spank_t spank) {
    if (!is_malleable_script(spank)) return;
    const uint32_t job_id = number_of(spank, S_JOB_ID);
    const auto seen = ask_slurmctld(job_id);
    if (!seen || seen->intent.run < 1) return;
    const int before = seen->intent.gpus;
    const int gpus = seen->intent.target > 0 ? seen->intent.target : before;
    std::string line = "job " + std::to_string(job_id) + " continues with " + gpus_text(gpus);
    if (before > 0 && before != gpus) line += " (before: " + std::to_string(before) + ")";
    say(line);
}

// The script's exit status proves nothing: after its ranks have left, the script may end with any
// status. The proof is that Slurm has requeued the job.
void report_resize(spank_t spank) {
    if (!is_malleable_script(spank)) return;
    const uint32_t job_id = number_of(spank, S_JOB_ID);
    const auto seen = ask_slurmctld(job_id);
    if (!seen || !seen->requeued || seen->intent.state != records::IntentState::asked) return;
    const records::Intent &intent = seen->intent;
    const std::string why = intent.why.empty() ? "" : " (" + shown_reason(intent.why) + ")";
    const std::string job = "job " + std::to_string(job_id);
    if (intent.target == 0)
        return say(job +
                   " is paused: it continues from its checkpoint later; Slurm's "
                   "\"CANCELLED ... DUE TO JOB REQUEUE\" and \"Terminated\" are expected");
    say(job + " is being resized from " + std::to_string(intent.gpus) + " to " +
        gpus_text(intent.target) + why +
        ": it restarts in a few seconds; Slurm's \"CANCELLED ... DUE TO JOB REQUEUE\" and "
        "\"Terminated\" are expected");
}

}  // namespace ringrt::slurm
