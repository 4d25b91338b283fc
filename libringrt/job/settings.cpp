// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/settings.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "libringrt/base/config_struct.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt {

constexpr NumberSetting kTimeout{"RINGRT_TIMEOUT_MS", 1, 86400000, 600000};
constexpr NumberSetting kStartTimeout{"RINGRT_START_TIMEOUT_MS", 1, 86400000, 120000};
constexpr NumberSetting kKeepCheckpoints{"RINGRT_KEEP_CHECKPOINTS", 1, 1000, 3};

namespace {

// ringrt(3) lists the same table.
struct NumberRow {
    NumberSetting setting;
    uint32_t Settings::*field;
};
constexpr std::array kNumbers = {
    NumberRow{{"RINGRT_SAVE_INTERVAL_S", 1, 31536000, 600}, &Settings::save_interval_s},
    NumberRow{kKeepCheckpoints, &Settings::keep_checkpoints},
    NumberRow{{"RINGRT_SAVE_INLINE", 0, 1, 0}, &Settings::save_inline},
    NumberRow{kTimeout, &Settings::timeout_ms},
    NumberRow{kStartTimeout, &Settings::start_timeout_ms},
    NumberRow{{"RINGRT_TELEMETRY_S", 1, 86400, 30}, &Settings::telemetry_s},
    NumberRow{{"RINGRT_LEAVE_TIMEOUT_S", 1, 3600, 60}, &Settings::leave_timeout_s},
    NumberRow{{"RINGRT_REQUEUE_AGAIN_S", 1, 3600, 10}, &Settings::requeue_again_s},
    NumberRow{{"RINGRT_LIVE_RESIZE", 0, 1, 0}, &Settings::live_resize},
    NumberRow{{"RINGRT_LIVE_COPY_STEPS", 0, 1000000000, 0}, &Settings::live_copy_steps},
};

constexpr size_t kPathBytesMax = 3900;  // of a directory

// The struct's first version ended here, so no program passes a smaller one.
constexpr size_t kConfigBytesMin =
    offsetof(ringrt_config_t, live_copy_steps) + sizeof(ringrt_config_t::live_copy_steps);

Status invalid(std::string message) { return {RINGRT_INVALID_ARGUMENT, std::move(message)}; }

template <typename Number>
bool parse(const char *value, Number low, Number high, Number &out) {
    std::string_view word(value, strnlen(value, 32));
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    return error == std::errc() && end == word.data() + word.size() && out >= low && out <= high;
}

Status read_numbers(const ringrt_config_t &config, const Environment &environment, Settings &out) {
    out.save_interval_s = config.save_interval_s;
    out.keep_checkpoints = config.keep_checkpoints;
    out.save_inline = config.save_inline;
    out.timeout_ms = config.timeout_ms;
    out.start_timeout_ms = config.start_timeout_ms;
    out.telemetry_s = config.telemetry_s;
    out.live_resize = config.live_resize;
    out.live_copy_steps = config.live_copy_steps;
    for (const NumberRow &row : kNumbers)
        RINGRT_TRY(read_number(row.setting, environment, out.*row.field));
    return {};
}

// Ranks come from the config, or otherwise from srun.
Status read_ranks(const ringrt_config_t &config, const Environment &environment, Settings &out) {
    SlurmIdentity slurm;
    Status in_slurm = slurm_identity(environment, &slurm);
    if (config.size == 0 && !in_slurm.ok()) return in_slurm;
    out.job = slurm.job;
    out.job_name = slurm.job_name;
    out.restart = slurm.restart;
    if (config.size != 0) {
        out.rank = config.rank;
        out.size = config.size;
        out.local_rank = config.local_size > 0 ? config.local_rank : -1;
    } else {
        out.rank = slurm.rank;
        out.size = slurm.size;
        out.local_rank = slurm.local_rank;
    }
    if (out.size < 1 || out.size > kRanksMax || out.rank < 0 || out.rank >= out.size)
        return invalid(
            format_text("rank %d of %d: expected 0 <= rank < size <= 65536", out.rank, out.size));
    return {};
}

// RINGRT_EXTENDS=JOBID makes this job an extension.
Status read_extension(const ringrt_config_t &config, const Environment &environment,
                      Settings &out) {
    RINGRT_TRY(read_base_job(environment, out.is_extension, out.base_job));
    if (out.is_extension) out.live_resize = 1;
    if (!out.live_resize) return {};
    const char *local = environment("RINGRT_CHECKPOINT_LOCAL");
    if (config.allgather || (local && *local))
        return invalid(
            "live_resize cannot be combined with RINGRT_CHECKPOINT_LOCAL, or with a start through "
            "the program's allgather (MPI)");
    const char *extendable = environment("RINGRT_EXTENDABLE");
    out.extendable = !out.is_extension && extendable && *extendable;
    const char *wait = environment("RINGRT_STEP_WAIT");
    out.ends_with_first_task = wait && *wait;
    return {};
}

Status read_signal(const Environment &environment, Settings &out) {
    out.signal = SIGURG;  // ignored by processes that do not handle it
    const char *value = environment("RINGRT_SIGNAL");
    if (!value || !*value) return {};
    auto parsed = records::parse_signal(std::string_view(value, strnlen(value, 65)));
    const int *number = std::get_if<int>(&parsed);
    if (!number || *number == SIGKILL || *number == SIGSTOP || *number == SIGTERM)
        return invalid(
            format_text("RINGRT_SIGNAL: expected a signal that can be caught, other than SIGTERM "
                        "(for example URG), got \"%.40s\"",
                        value));
    out.signal = *number;
    return {};
}

Status read_batch(const ringrt_config_t &config, Settings &out) {
    if (config.batch_rule != RINGRT_FIXED_GLOBAL_BATCH &&
        config.batch_rule != RINGRT_FIXED_BATCH_PER_GPU)
        return invalid(format_text("config.batch_rule %d is unknown", config.batch_rule));
    if (config.samples_total > 0 && config.global_batch == 0)
        return invalid("config.samples_total needs config.global_batch");
    if (config.samples_total > 0 && config.steps_total > 0)
        return invalid("config.samples_total and config.steps_total: expected one of them");
    out.samples_total = config.samples_total;
    out.steps_total = config.steps_total;
    out.batch = {.global_batch = config.global_batch,
                 .reference_batch = config.global_batch,
                 .reference_size = std::max(config.reference_size, 1u),
                 .micro_batch_max = config.micro_batch_max,
                 .rule = config.batch_rule};
    return {};
}

std::string bounded(const char *path) {
    return path ? std::string(path, strnlen(path, 4096)) : std::string();
}

std::string directory_of_job(uint64_t job) {
    return job ? format_text("ringrt-%llu", static_cast<unsigned long long>(job)) : "ringrt-local";
}

// Absolute, so that the program may change its directory later.
void make_absolute(std::string &path) {
    char here[4096];
    if (!path.empty() && path.front() != '/' && getcwd(here, sizeof here))
        path = std::string(here) + "/" + path;
}

Status too_long() { return invalid("the checkpoint directory's path is too long"); }

// The nodes' local directory is shared by many jobs.
Status read_directories(const ringrt_config_t &config, const Environment &environment,
                        Settings &out) {
    RINGRT_TRY(read_checkpoint_directory(config.checkpoint_dir, environment,
                                         out.is_extension ? out.base_job : out.job,
                                         out.checkpoint_dir));
    std::string local = bounded(environment("RINGRT_CHECKPOINT_LOCAL"));
    if (!local.empty()) local += "/" + directory_of_job(out.job);
    make_absolute(local);
    if (local.size() > kPathBytesMax) return too_long();
    if (out.checkpoint_dir == local)
        return invalid("RINGRT_CHECKPOINT_LOCAL: expected another directory than the shared one");
    out.checkpoint_local = local;
    return {};
}

std::string text_setting(const char *configured, const char *value, const char *standard);

Status read_transport(const ringrt_config_t &config, const Environment &environment,
                      Settings &out) {
    out.transport = text_setting(config.transport, environment("RINGRT_TRANSPORT"), "tcp");
    out.messenger = config.messenger;
    if (out.transport != "tcp" && out.transport != "mpi")
        return invalid(
            format_text("RINGRT_TRANSPORT (or config.transport): expected tcp or mpi, got "
                        "\"%.40s\"",
                        out.transport.c_str()));
    if (out.transport == "mpi" && !out.messenger)
        return invalid(
            "RINGRT_TRANSPORT=mpi needs a program that starts with ringrt_init_mpi() on an MPI "
            "with "
            "MPI_THREAD_MULTIPLE");
    return {};
}

std::string text_setting(const char *configured, const char *value, const char *standard) {
    return configured && *configured ? configured : value && *value ? value : standard;
}

}  // namespace

Status read_base_job(const Environment &environment, bool &is_extension, uint64_t &job) {
    const char *base = environment("RINGRT_EXTENDS");
    is_extension = base && *base;
    if (is_extension && !parse(base, uint64_t{0}, uint64_t{UINT32_MAX}, job))
        return invalid(format_text("RINGRT_EXTENDS: expected the base job's id, got %.40s", base));
    return {};
}

Status read_checkpoint_directory(const char *configured, const Environment &environment,
                                 uint64_t job, std::string &out) {
    std::string name = bounded(configured ? configured : environment("RINGRT_CHECKPOINT_DIR"));
    if (name.empty()) name = directory_of_job(job);
    make_absolute(name);
    if (name.size() > kPathBytesMax) return too_long();
    out = std::move(name);
    return {};
}

Status read_number(const NumberSetting &setting, const Environment &environment, uint32_t &field) {
    const char *value = environment(setting.name);
    if (field == 0 && !value)
        field = setting.standard;
    else if (field == 0 && !parse(value, setting.low, setting.high, field))
        return invalid(format_text("%s: expected a number from %u to %u, got \"%.40s\"",
                                   setting.name, setting.low, setting.high, value));
    if (field < setting.low || field > setting.high)
        return invalid(format_text("%s (or the config's field): expected %u to %u, got %u",
                                   setting.name, setting.low, setting.high, field));
    return {};
}

Status resolve(const ringrt_config_t *given, const Environment &environment, Settings &out) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    Settings settings;
    Status outcome = copy_config(given, kConfigBytesMin, "CONFIG", config);
    if (outcome.ok()) outcome = read_numbers(config, environment, settings);
    if (outcome.ok()) outcome = read_ranks(config, environment, settings);
    if (outcome.ok()) outcome = read_extension(config, environment, settings);
    if (outcome.ok()) outcome = read_signal(environment, settings);
    if (outcome.ok()) outcome = read_batch(config, settings);
    if (outcome.ok()) outcome = read_directories(config, environment, settings);
    if (!outcome.ok()) return outcome;
    outcome = read_transport(config, environment, settings);
    if (!outcome.ok()) return outcome;
    settings.rendezvous = text_setting(config.rendezvous, environment("RINGRT_RENDEZVOUS"), "");
    settings.scontrol = text_setting(nullptr, environment("RINGRT_SCONTROL"), "scontrol");
    settings.channel = bounded(environment("RINGRT_CHANNEL"));
    settings.telemetry_file = text_setting(nullptr, environment("RINGRT_TELEMETRY_FILE"), "");
    settings.allgather = config.allgather;
    settings.allgather_context = config.allgather_context;
    settings.seed = config.seed;
    out = std::move(settings);
    return {};
}

}  // namespace ringrt
