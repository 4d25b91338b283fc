// SPDX-License-Identifier: GPL-2.0-or-later
// The plugin job_submit/malleable: slurmctld calls it when a job is submitted or changed.
//
// It runs under slurmctld's locks: it bounds its input, sends no request to Slurm, and never
// throws.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>
#include <string>
#include <variant>

#include "slurm_plugin/records/fields.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/host/facts_file.h"
#include "slurm_plugin/slurm/host/sched_view.h"
#include "slurm_plugin/slurm/job_submit/submit_check.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "slurm_plugin/slurm/spank/step_variables.h"

namespace ringrt::slurm {
namespace {

void replace(char *&field, const std::string &text) {
    slurm_xfree(reinterpret_cast<void **>(&field));
    field = slurm_xstrdup(text.c_str());
}

// A function of sched/doubling, if that plugin is loaded in this process.
template <typename Function>
Function sched_function(const char *name) {
    void *object = dlopen(kSchedObject, RTLD_NOLOAD | RTLD_LAZY);
    if (object == nullptr) return nullptr;
    void *symbol = dlsym(object, name);
    dlclose(object);  // drops only the reference that RTLD_NOLOAD added
    return reinterpret_cast<Function>(symbol);
}

// The file in which ringrtd publishes its facts, if it runs with this slurmctld.
std::string facts_path() {
    const char *path = std::getenv(kFactsVariable);
    return path != nullptr ? path : kFactsPath;
}

RingrtPartitionView view_of(const char *partition) {
    RingrtPartitionView view{};
    if (const auto ask = sched_function<RingrtPartitionViewFn>(kPartitionViewName))
        return ask(partition, &view) == 0 ? view : RingrtPartitionView{};
    const auto facts = read_facts(facts_path(), geteuid());
    if (!facts) return view;
    return view_in(*facts, partition != nullptr
                               ? std::string_view(partition, strnlen(partition, 256))
                               : std::string_view());
}

// A job's present intent, or kManyJobs; empty: unknown, or the job is not malleable.
std::string intent_text_of(const std::string &job) {
    char present[records::kRecordBytesMax + 1] = "";
    if (const auto ask = sched_function<RingrtIntentTextFn>(kIntentTextName))
        return ask(job.c_str(), present, sizeof present) == 0 ? present : "";
    if (!read_facts(facts_path(), geteuid())) return {};
    const auto text = read_trusted(facts_path() + ".intents", kIntentsBytesMax, geteuid());
    return text ? intent_in(*text, job).value_or("") : "";
}

void replace_or_clear(char *&field, const std::string &text) {
    if (text.empty())
        slurm_xfree(reinterpret_cast<void **>(&field));
    else
        replace(field, text);
}

std::string_view tres_text(const char *text) {
    return text == nullptr ? std::string_view() : std::string_view(text, strnlen(text, 256));
}

// The same sizes that the controller sets later (SlurmCluster::update_pending()). Sets nodes only
// if the layout gives the GPUs per node.
void set_size(job_desc_msg_t &job, const Start &start) {
    const std::string kind = gpu_type(job);
    const records::Layout &layout = start.layout;
    const int nodes = nodes_of(layout, start.gpus, layout.gpus_per_node);
    const bool is_laid_out = layout.gpus_per_node > 0;
    const int tasks = tasks_of(layout, start.gpus, nodes);
    replace(job.tres_per_job, format_gpu_tres(kind, start.gpus));
    const std::string_view per_node = tres_text(job.tres_per_node);
    replace_or_clear(job.tres_per_node, is_laid_out ? with_gpus(per_node, kind, start.gpus / nodes)
                                                    : without_gpus(per_node));
    slurm_xfree(reinterpret_cast<void **>(&job.tres_per_task));
    replace_or_clear(job.cpus_per_tres, without_gpus(tres_text(job.cpus_per_tres)));
    if (start.cpus_per_task) job.cpus_per_task = static_cast<uint16_t>(*start.cpus_per_task);
    job.ntasks_per_tres = NO_VAL16;  // already one per GPU
    job.num_tasks = static_cast<uint32_t>(tasks);
    job.min_cpus = job.num_tasks * static_cast<uint32_t>(start.cpus_per_task.value_or(1));
    job.min_nodes = job.max_nodes = is_laid_out ? static_cast<uint32_t>(nodes) : NO_VAL;
    job.ntasks_per_node = is_laid_out ? static_cast<uint16_t>(tasks / nodes) : NO_VAL16;
}

// How slurmstepd starts the job's tasks. sbatch's SPANK has added an entry for it.
void set_step_layout(job_desc_msg_t &job, const records::Layout &layout) {
    constexpr uint32_t kEntriesMax = 65536;
    const std::string name = std::string(kLayoutInJob) + "=";
    const uint32_t entries = std::min(job.env_size, kEntriesMax);
    for (uint32_t i = 0; i < entries && job.environment != nullptr; ++i) {
        char *&entry = job.environment[i];
        if (entry != nullptr && std::strncmp(entry, name.c_str(), name.size()) == 0)
            replace(entry, name + (layout.task_per_node ? kTaskPerNode : kTaskPerGpu));
    }
}

// Whether the user declares at submission what the runtime reports later: that extensions can join.
bool declares_live(const job_desc_msg_t &job) {
    constexpr uint32_t kEntriesMax = 65536;
    const uint32_t entries = std::min(job.env_size, kEntriesMax);
    for (uint32_t i = 0; i < entries && job.environment != nullptr; ++i)
        if (job.environment[i] != nullptr &&
            std::strcmp(job.environment[i], "RINGRT_LIVE_RESIZE=1") == 0)
            return true;
    return false;
}

void record_intent(job_desc_msg_t &job, const Flags &flags, const Start &start) {
    const std::string site_text = job.admin_comment == nullptr ? "" : job.admin_comment;
    const records::Intent intent{
        .gpus_min = flags.range.min,
        .gpus_max = flags.range.max,
        .signal = flags.signal,
        .grace_s = flags.grace_s,
        .layout = start.layout,
        .first_gpus = start.requested ? start.gpus : 0,
        .since_s = static_cast<double>(std::time(nullptr)),
        .begin_s = job.begin_time,
        .limit_by_slurm = job.time_limit == NO_VAL,
        .pause = flags.pause,
        .live = declares_live(job),
    };
    replace(job.admin_comment, records::format_into(site_text, intent));
}

// Sets what a requeue needs, and the soft hold, which expires if there is no controller.
void prepare_for_requeue(job_desc_msg_t &job, int hold_s) {
    job.requeue = 1;
    if (job.open_mode == 0) job.open_mode = OPEN_MODE_APPEND;
    if (job.begin_time == 0 && hold_s > 0) job.begin_time = std::time(nullptr) + hold_s;
}

// Returns a line for the user, or an empty text.
std::variant<std::string, Refusal> make_malleable(job_desc_msg_t &job, const Flags &flags) {
    const RingrtPartitionView view = view_of(job.partition);
    if (auto refusal = refuse_kind(job)) return *refusal;
    if (auto refusal = refuse_layout(job)) return *refusal;
    if (auto refusal = refuse_partition(flags, job.partition, view)) return *refusal;
    const auto header = header_of(job);
    if (const auto *refusal = std::get_if<Refusal>(&header)) return *refusal;
    const auto chosen = start_of(std::get<Header>(header), flags.range);
    if (const auto *refusal = std::get_if<Refusal>(&chosen)) return *refusal;
    const Start &start = std::get<Start>(chosen);
    if (auto refusal = refuse_node(flags.range, start.layout, job.partition, view)) return *refusal;
    set_size(job, start);
    set_step_layout(job, start.layout);
    record_intent(job, flags, start);
    prepare_for_requeue(job, view.hold_s);
    return start.note;
}

// sbatch shows the line, whether the job was accepted or not, below the messages of other plugins.
void notify_user(const std::string &line, char **err_msg) {
    if (err_msg == nullptr || line.empty()) return;
    const std::string before = *err_msg == nullptr ? std::string() : std::string(*err_msg) + "\n";
    replace(*err_msg, before + line);
}

int submit(job_desc_msg_t &job, char **err_msg) {
    const auto asked = flags_of(job);
    if (!asked) return SLURM_SUCCESS;
    std::variant<std::string, Refusal> outcome;
    if (const auto *bad = std::get_if<Refusal>(&*asked))
        outcome = *bad;
    else
        outcome = make_malleable(job, std::get<Flags>(*asked));
    if (const auto *note = std::get_if<std::string>(&outcome)) {
        notify_user(*note, err_msg);
        return SLURM_SUCCESS;
    }
    notify_user(std::get<Refusal>(outcome).message, err_msg);
    return ESLURM_INVALID_GRES;
}

// The job that an update applies to: scontrol sets only the text of its name.
std::string job_to_change(const job_desc_msg_t &job) {
    constexpr std::size_t kNamedBytesMax = 64;
    if (job.job_id_str != nullptr) return {job.job_id_str, strnlen(job.job_id_str, kNamedBytesMax)};
    return std::to_string(job_id_of(job));
}

// If an administrator sets a new AdminComment, only the site's text changes; the intent behind it
// stays. One text for many tasks would give all of them the intent of one: returns false.
bool keep_intent(job_desc_msg_t &job) {
    if (job.admin_comment == nullptr) return true;
    const std::string text(job.admin_comment);
    if (records::parse_intent(text)) return true;
    const std::string name = job_to_change(job);
    std::string known = intent_text_of(name);
    // A task without its own record uses the array's.
    if (known.empty()) known = intent_text_of(name.substr(0, name.find('_')));
    const auto intent = records::parse_intent(known);
    if (intent) replace(job.admin_comment, records::format_into(text, *intent));
    return known != kManyJobs;
}

template <typename Work>
int guarded(const char *what, Work work) noexcept {
    try {
        return work();
    } catch (const std::exception &error) {
        slurm_error("job_submit/malleable: %s: %s", what, error.what());
    } catch (...) {
        slurm_error("job_submit/malleable: %s: unknown failure", what);
    }
    return SLURM_SUCCESS;  // the job continues as if the plugin were not loaded
}

int modify(job_desc_msg_t *job, char **err_msg) noexcept {
    if (job == nullptr) return SLURM_SUCCESS;
    return guarded("job_modify", [=]() -> int {
        if (keep_intent(*job)) return SLURM_SUCCESS;
        notify_user(
            "AdminComment: expected one task of this array of malleable jobs (for example 100_3), "
            "because each has its own record there",
            err_msg);
        return ESLURM_NOT_SUPPORTED;
    });
}

}  // namespace
}  // namespace ringrt::slurm

extern "C" {

extern RINGRT_PLUGIN_SYMBOL const char plugin_name[] = "Malleable jobs: --malleable=MIN:MAX";
extern RINGRT_PLUGIN_SYMBOL const char plugin_type[] = "job_submit/malleable";
extern RINGRT_PLUGIN_SYMBOL const uint32_t plugin_version = SLURM_VERSION_NUMBER;

RINGRT_PLUGIN_SYMBOL int init() { return SLURM_SUCCESS; }
RINGRT_PLUGIN_SYMBOL int fini() { return SLURM_SUCCESS; }

RINGRT_PLUGIN_SYMBOL int job_submit(job_desc_msg_t *job, uint32_t, char **err_msg) {
    if (job == nullptr) return SLURM_SUCCESS;
    return ringrt::slurm::guarded("job_submit",
                                  [=] { return ringrt::slurm::submit(*job, err_msg); });
}

#if RINGRT_SLURM_AT_LEAST(23, 2)
RINGRT_PLUGIN_SYMBOL int job_modify(job_desc_msg_t *job, void *, uint32_t, char **err_msg) {
#else
RINGRT_PLUGIN_SYMBOL int job_modify(job_desc_msg_t *job, void *, uint32_t) {
    char **err_msg = nullptr;
#endif
    return ringrt::slurm::modify(job, err_msg);
}

}  // extern "C"
