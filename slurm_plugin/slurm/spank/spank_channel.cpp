// SPDX-License-Identifier: GPL-2.0-or-later
// The channel between a step's rank 0 and Slurm (doc/channel.md), in slurmstepd: it creates a
// socket before the tasks are forked, and a child process serves it afterwards.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "slurm_plugin/channel/service.h"
#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/base/loaded_job.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "slurm_plugin/slurm/spank/beside_tasks.h"
#include "slurm_plugin/slurm/spank/sbatch_flags.h"
#include "slurm_plugin/slurm/spank/spank_contexts.h"

namespace ringrt::slurm {
namespace {

using records::ChannelMessage;
using records::ChannelWord;

constexpr std::size_t kCommentBytesMax = 65536;

// Of this slurmstepd, which has one step. Plain values: no constructor runs at load time.
int listener = -1;
int lifeline = -1;  // slurmstepd's end: the service ends with it
pid_t service = -1;
char service_key[33];

void random_hex(char *out, std::size_t digits) {
    std::array<unsigned char, 32> bytes{};
    if (getrandom(bytes.data(), digits / 2, 0) != static_cast<ssize_t>(digits / 2)) digits = 0;
    for (std::size_t i = 0; i < digits; ++i)
        out[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
    out[digits] = '\0';
}

// An abstract name is in no file system: it is visible wherever the network namespace is the
// node's.
int listen_at(const std::string &name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (bind(fd, reinterpret_cast<sockaddr *>(&address), bytes) == 0 && listen(fd, 8) == 0)
        return fd;
    close(fd);
    return -1;
}

bool is_malleable_step(spank_t spank) {
    uint32_t step = 0;
    char range[2 * records::kFlagBytesMax + 2];
    return spank_remote(spank) == 1 &&
           spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step < SLURM_MAX_NORMAL_STEP_ID &&
           spank_getenv(spank, kFlags[0].in_job, range, sizeof range) == ESPANK_SUCCESS &&
           std::holds_alternative<records::GpuRange>(records::parse_range(range));
}

int ask_signal_of(spank_t spank) {
    char text[2 * records::kFlagBytesMax + 2];
    if (spank_getenv(spank, kFlags[1].in_job, text, sizeof text) != ESPANK_SUCCESS)
        return records::Intent().signal;
    const auto parsed = records::parse_signal(text);
    const int *number = std::get_if<int>(&parsed);
    return number != nullptr ? *number : records::Intent().signal;
}

JobOwner owner_of(spank_t spank) {
    JobOwner owner{.user = static_cast<uid_t>(-1)};
    gid_t *groups = nullptr;
    int count = 0;
    if (spank_get_item(spank, S_JOB_UID, &owner.user) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &owner.group) != ESPANK_SUCCESS)
        return owner;
    if (spank_get_item(spank, S_JOB_SUPPLEMENTARY_GIDS, &groups, &count) == ESPANK_SUCCESS)
        owner.groups.assign(groups, groups + count);
    return owner;
}

ChannelMessage requeue_job(uint32_t job_id) {
    if (requeue_running(job_id) == SLURM_SUCCESS) return {ChannelWord::answer, 0, ""};
    const int error = errno;
    return {ChannelWord::answer, error > 0 ? error : 1, slurm_strerror(error)};
}

// Appends the report to the owner's own text, which may have changed since the last report.
void report_of(uint32_t job_id, const records::Telemetry &telemetry) {
    LoadedJob job;
    if (job.load(job_id) != SLURM_SUCCESS || !job) return;
    const char *said = job->comment;
    const std::string own(said != nullptr ? said : "",
                          said != nullptr ? strnlen(said, kCommentBytesMax) : 0);
    std::string comment = records::format_into(own, telemetry);
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    set_job_id(change, job_id);
    change.comment = comment.data();
    slurm_update_job(&change);
}

// Whether the job still runs in the GraceTime that Slurm gives a preempted job.
bool is_preempted(uint32_t job_id) {
    LoadedJob job;
    if (job.load(job_id) != SLURM_SUCCESS || !job) return false;
    // A running job also has the flag JOB_SIGNALING until all nodes have received the signal.
    return (job->job_state & JOB_STATE_BASE) == JOB_RUNNING &&
           (job->job_state & JOB_COMPLETING) == 0 && job->preempt_time != 0 &&
           job->preempt_time >= job->start_time;
}

// The order in the job's record to keep only some of its ranks.
int ranks_to_keep(uint32_t job_id) {
    LoadedJob job;
    if (job.load(job_id) != SLURM_SUCCESS || !job) return -1;
    const char *said = job->admin_comment;
    if (said == nullptr) return -1;
    const auto intent = records::parse_intent({said, strnlen(said, kCommentBytesMax)});
    return intent ? intent->keep : -1;
}

struct Beside {
    uint32_t job_id = 0;
    pid_t task = 0;
    int ask_signal = 0;
    JobOwner owner;
};

void serve(const Beside &step, int end_of_lifeline) {
    sigset_t all, heard;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);  // blocked here; read below by signalfd
    sigemptyset(&heard);
    sigaddset(&heard, step.ask_signal);
    sigaddset(&heard, SIGTERM);
    sigaddset(&heard, records::kKeepSignal);
    if (!keep_only({listener, end_of_lifeline})) return;
    join_cgroups_of(step.task);
    if (!become(step.owner)) return;
    prctl(PR_SET_NAME, "ringrt-channel");
    channel::Service({.listener = listener,
                      .signals = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK),
                      .lifeline = end_of_lifeline,
                      .ask_signal = step.ask_signal,
                      .owner = step.owner.user,
                      .key = service_key,
                      .slurm = {.requeue = [&] { return requeue_job(step.job_id); },
                                .is_preempted = [&] { return is_preempted(step.job_id); },
                                .report = [&](const auto &t) { report_of(step.job_id, t); },
                                .ranks_to_keep = [&] { return ranks_to_keep(step.job_id); }}})
        .run();
}

}  // namespace

void open_channel(spank_t spank) {
    if (spank_remote(spank) != 1) return;
    spank_unsetenv(spank, kForLibrary[3]);  // inherited from an enclosing step
    if (!is_malleable_step(spank)) return;
    char name[33];
    random_hex(name, 32);
    random_hex(service_key, 32);
    if (name[0] == '\0' || service_key[0] == '\0') return;
    const std::string whole = "ringrt-" + std::string(name);
    listener = listen_at(whole);
    if (listener < 0)
        slurm_error("malleable: no channel to the job's ranks: %s", std::strerror(errno));
    else
        spank_setenv(spank, kForLibrary[3], (whole + "/" + service_key).c_str(), 1);
}

void serve_channel(spank_t spank) {
    if (listener < 0) return;
    Beside step{.ask_signal = ask_signal_of(spank), .owner = owner_of(spank)};
    int ends[2] = {-1, -1};
    if (spank_get_item(spank, S_JOB_ID, &step.job_id) == ESPANK_SUCCESS &&
        spank_get_item(spank, S_TASK_PID, &step.task) == ESPANK_SUCCESS &&
        step.owner.user != static_cast<uid_t>(-1) && pipe2(ends, O_CLOEXEC) == 0)
        service = fork();
    if (service == 0) {
        try {
            serve(step, ends[0]);
        } catch (...) {  // out of memory: the job continues without the channel
        }
        _exit(0);
    }
    if (service < 0) slurm_error("malleable: no process serves the channel to the job's ranks");
    close(std::exchange(listener, -1));
    close(ends[0]);
    lifeline = ends[1];
}

// Reaps the service, or kills it: otherwise Slurm would wait seconds for the step's processes. If
// slurmstepd has already reaped it, its number is not used.
void close_channel() {
    if (lifeline >= 0) close(std::exchange(lifeline, -1));
    constexpr int kReapTimeout_ms = 200;
    for (int ms = 0; service > 0 && ms < 2 * kReapTimeout_ms; ++ms) {
        if (waitpid(service, nullptr, WNOHANG) != 0) service = -1;
        if (service > 0 && ms == kReapTimeout_ms) (void)kill(service, SIGKILL);
        if (service > 0) usleep(1000);
    }
}

}  // namespace ringrt::slurm
