// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/job_submit/submit_check.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {

namespace {

constexpr uint32_t kEntriesMax = 1024;      // of the SPANK environment that are read
constexpr std::size_t kShownBytesMax = 40;  // of the user's text in a message
constexpr std::size_t kTresBytesMax = 256;  // of a list of resources

bool is_set(uint16_t value) { return value != 0 && value != NO_VAL16 && value != INFINITE16; }
bool is_set(uint32_t value) { return value != 0 && value != NO_VAL && value != INFINITE; }

int at_most(uint32_t count) {
    return static_cast<int>(std::min<uint32_t>(count, records::kGpusMax));
}

std::string_view bounded(const char *text, std::size_t bytes_max) {
    return text == nullptr ? std::string_view() : std::string_view(text, strnlen(text, bytes_max));
}

std::string shown(const char *text) {
    std::string out(bounded(text, kShownBytesMax));
    std::ranges::replace_if(
        out, [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
    return out;
}

// The value of NAME in "SPANK_NAME=value" or "NAME=value", truncated to one byte more than the
// longest valid value.
std::optional<std::string_view> spank_value(const job_desc_msg_t &job, std::string_view name) {
    if (job.spank_job_env == nullptr) return std::nullopt;
    for (char *entry :
         std::span(job.spank_job_env, std::min(job.spank_job_env_size, kEntriesMax))) {
        std::string_view text = bounded(entry, 32 + records::kFlagBytesMax + 1);
        if (text.starts_with("SPANK_")) text.remove_prefix(6);
        if (text.starts_with(name) && text.substr(name.size()).starts_with('='))
            return text.substr(name.size() + 1).substr(0, records::kFlagBytesMax + 1);
    }
    return std::nullopt;
}

template <typename T>
std::optional<Refusal> take(const std::variant<T, records::FlagError> &parsed, T &into) {
    if (const auto *error = std::get_if<records::FlagError>(&parsed))
        return Refusal{error->message};
    into = std::get<T>(parsed);
    return std::nullopt;
}

std::string name_of(const char *partition) {
    return partition != nullptr ? "partition " + shown(partition) : "the default partition";
}

Refusal leave_out(const std::string &option, const std::string &why) {
    return {"--malleable: leave out " + option + ": " + why +
            "; for example --malleable=1:8 --gpus=2"};
}

}  // namespace

std::optional<std::variant<Flags, Refusal>> flags_of(const job_desc_msg_t &job) {
    const auto range = spank_value(job, "MALLEABLE");
    const auto signal = spank_value(job, "MALLEABLE_SIGNAL");
    const auto grace = spank_value(job, "MALLEABLE_GRACE");
    const auto pause = spank_value(job, "MALLEABLE_PAUSE");
    if (!range && (signal || grace || pause))
        return Refusal{
            "--malleable-signal, --malleable-grace and --malleable-pause: expected --malleable as "
            "well (for example --malleable=1:8)"};
    if (!range) return std::nullopt;
    const records::Intent defaults;
    Flags flags{.signal = defaults.signal, .grace_s = defaults.grace_s};
    if (auto refusal = take(records::parse_range(*range), flags.range)) return *refusal;
    if (signal)
        if (auto refusal = take(records::parse_signal(*signal), flags.signal)) return *refusal;
    if (grace)
        if (auto refusal = take(records::parse_grace(*grace), flags.grace_s)) return *refusal;
    if (pause)
        if (auto refusal = take(records::parse_pause(*pause), flags.pause)) return *refusal;
    return flags;
}

std::optional<Refusal> refuse_kind(const job_desc_msg_t &job) {
    if (job.script == nullptr)
        return Refusal{
            "--malleable: expected a batch job, got srun or salloc; put the command into a "
            "script: sbatch --malleable=1:8 job.sh"};
    if (job.het_job_offset != NO_VAL)
        return Refusal{
            "--malleable: expected a single job, got a heterogeneous one; give all of it one "
            "size: sbatch --malleable=1:8 job.sh"};
    if (job.requeue == 0) return leave_out("--no-requeue", "a resize requeues the job");
    // Slurm cancels a pending job that can no longer end in time.
    if (job.deadline > 0 && job.deadline != NO_VAL)
        return leave_out("--deadline", "a job away for a resize could miss it");
    return std::nullopt;
}

std::optional<Refusal> refuse_layout(const job_desc_msg_t &job) {
    const std::string follows = "nodes and tasks follow the number of GPUs";
    if (job.req_nodes != nullptr && *job.req_nodes != '\0')
        return leave_out("--nodelist=" + shown(job.req_nodes),
                         "nodes change with the size (--exclude may stay)");
    if (is_set(job.min_nodes) && is_set(job.max_nodes) && job.min_nodes != job.max_nodes)
        return leave_out(
            "--nodes=" + std::to_string(job.min_nodes) + "-" + std::to_string(job.max_nodes),
            follows);
    if (is_set(job.ntasks_per_tres) && job.ntasks_per_tres != 1)
        return leave_out("--ntasks-per-gpu", "there is one task per GPU");
    if (is_set(job.ntasks_per_socket) || is_set(job.ntasks_per_core))
        return leave_out("--ntasks-per-socket and --ntasks-per-core", follows);
    for (const char *text : {job.tres_per_job, job.tres_per_node, job.tres_per_task})
        if (const auto share = share_item(bounded(text, kTresBytesMax)); !share.empty())
            return leave_out(shown(std::string(share).c_str()), "it has whole GPUs");
    if (mentions_gpu(bounded(job.tres_per_socket, kTresBytesMax)))
        return leave_out("--gpus-per-socket", follows);
    // Slurm never starts a job whose number of nodes is not a multiple of it.
    if (const int segment = segment_of(job); segment > 1)
        return leave_out("--segment=" + std::to_string(segment), follows);
    if (wants_whole_nodes(job)) return leave_out("--exclusive", "GPUs are allocated one by one");
    return std::nullopt;
}

std::optional<Refusal> refuse_partition(const Flags &flags, const char *partition,
                                        const RingrtPartitionView &view) {
    if (view.whole_nodes != 0)
        return Refusal{"--malleable: expected a partition that allocates single GPUs, got " +
                       name_of(partition) +
                       ", which allocates whole nodes (OverSubscribe=EXCLUSIVE)"};
    const int most = view.gpus_in_all;
    if (most <= 0 || flags.range.max <= most) return std::nullopt;
    const std::string range =
        std::to_string(flags.range.min) + ":" + std::to_string(flags.range.max);
    const std::string name = name_of(partition);
    const int reached = records::most_on_ladder(flags.range, most);
    const int min = reached > 0 ? flags.range.min : 1;
    const int max = reached > 0 ? reached : records::most_on_ladder({1, most}, most);
    const std::string right = std::to_string(min) + ":" + std::to_string(max);
    return Refusal{"--malleable: expected at most the " + std::to_string(most) +
                   " GPUs a job can have in " + name + " (for example " + right + "), got \"" +
                   range + "\""};
}

std::optional<Refusal> refuse_node(records::GpuRange range, const records::Layout &layout,
                                   const char *partition, const RingrtPartitionView &view) {
    if (view.gpus_per_node <= 0) return std::nullopt;
    if (layout.gpus_per_node > view.gpus_per_node)
        return Refusal{"--malleable: expected at most the " + std::to_string(view.gpus_per_node) +
                       " GPUs of a node in " + name_of(partition) +
                       " (for example --gpus-per-node=" + std::to_string(view.gpus_per_node) +
                       "), got \"" + std::to_string(layout.gpus_per_node) + "\""};
    const auto has_nodes = [&](int gpus) {
        return records::nodes_of(layout, gpus, view.gpus_per_node) <= view.nodes;
    };
    if (view.nodes <= 0 || has_nodes(range.min)) return std::nullopt;
    int below = range.min - 1;
    while (below > 1 && !has_nodes(below)) --below;
    return Refusal{"--malleable: expected a MIN that at most " + std::to_string(view.nodes) +
                   " nodes of " + name_of(partition) + " can share evenly (for example " +
                   std::to_string(below) + "), got \"" + std::to_string(range.min) + "\""};
}

std::variant<Header, Refusal> header_of(const job_desc_msg_t &job) {
    Header header;
    if (is_set(job.min_nodes)) header.nodes = at_most(job.min_nodes);
    if (is_set(job.num_tasks)) header.tasks = at_most(job.num_tasks);
    if (is_set(job.ntasks_per_node)) header.tasks_per_node = job.ntasks_per_node;
    if (is_set(job.cpus_per_task)) header.cpus_per_task = job.cpus_per_task;
    const std::pair<const char *, std::optional<int> *> counts[] = {
        {job.tres_per_job, &header.gpus},
        {job.tres_per_node, &header.gpus_per_node},
        {job.tres_per_task, &header.gpus_per_task},
        {job.cpus_per_tres, &header.cpus_per_gpu},
    };
    for (const auto &[text, count] : counts) {
        const std::string_view tres = bounded(text, kTresBytesMax);
        const auto gpus = parse_gpu_tres(tres);
        if (!gpus && mentions_gpu(tres))
            return Refusal{"--malleable: expected one GPU type (for example --gpus=2), got " +
                           shown(text)};
        if (gpus && gpus->count > 0) *count = at_most(static_cast<uint32_t>(gpus->count));
    }
    const int tasks = header.tasks_per_node.value_or(1);
    if (is_set(job.pn_min_cpus) &&
        job.pn_min_cpus > int64_t{tasks} * header.cpus_per_task.value_or(1))
        return leave_out("--mincpus=" + std::to_string(job.pn_min_cpus),
                         "the CPUs of a node follow its tasks (give --cpus-per-task)");
    return header;
}

std::string gpu_type(const job_desc_msg_t &job) {
    for (const char *text : {job.tres_per_job, job.tres_per_node, job.tres_per_task})
        if (const auto gpus = parse_gpu_tres(bounded(text, kTresBytesMax)))
            return gpus->name + ":1";
    return {};
}

}  // namespace ringrt::slurm
