// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/spank/srun_record.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "slurm_plugin/records/extension.h"

namespace ringrt::slurm {
namespace {

struct Option {
    std::string_view brief, name;
};

// The extension's job determines the size of its step.
constexpr std::array kSizes{
    Option{"-n", "--ntasks"},      Option{"-N", "--nodes"},    Option{"-G", "--gpus"},
    Option{"-w", "--nodelist"},    Option{"-r", "--relative"}, Option{"", "--ntasks-per-node"},
    Option{"", "--gpus-per-node"}, Option{"", "--gres"},       Option{"", "--jobid"},
};

// Variables with the prefix SLURM that are the user's choice, the same in each job.
constexpr std::array<std::string_view, 8> kWishes{
    "SLURM_CONF", "SLURM_CPUS_PER_TASK", "SLURM_DISTRIBUTION", "SLURM_EXPORT_ENV",
    "SLURM_HINT", "SLURM_KILL_BAD_EXIT", "SLURM_MPI_TYPE",     "SLURM_THREADS_PER_CORE",
};

// Variables of a single job: its GPUs, and those that this plugin sets. RINGRT_MALLEABLE is kept: a
// program derives the split of its batch from it.
constexpr std::array<std::string_view, 12> kOfOneJob{
    "CUDA_VISIBLE_DEVICES",   "GPU_DEVICE_ORDINAL",    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",   "ZE_AFFINITY_MASK",      "RINGRT_CHANNEL",
    "RINGRT_EXTENDABLE",      "RINGRT_STEP_WAIT",      "RINGRT_EXTENDS",
    "RINGRT_EXTENSION_TASKS", "RINGRT_STEP_VARIABLES", "_",
};

constexpr std::string_view kOptionOfSpank = "SLURM_SPANK__SLURM_SPANK_OPTION_";
constexpr std::string_view kOptionOfOurs = "SLURM_SPANK__SLURM_SPANK_OPTION_malleable_";

// Between single quotes, the shell takes every character literally except the quote.
void append_quoted(std::string &out, std::string_view word) {
    out += " '";
    for (const char c : word) {
        if (c == '\'')
            out += "'\\''";
        else
            out += c;
    }
    out += '\'';
}

// How many words to remove: 0: none; 1: "--ntasks=2", "-n2"; 2: "-n 2".
int words_of_size(std::string_view word) {
    for (const Option &option : kSizes) {
        if (word == option.name || (!option.brief.empty() && word == option.brief)) return 2;
        if (word.starts_with(option.name) && word.substr(option.name.size()).starts_with('='))
            return 1;
        if (!option.brief.empty() && word.size() > 2 && word.starts_with(option.brief)) return 1;
    }
    return 0;
}

}  // namespace

std::vector<std::string> without_size(const std::vector<std::string> &options) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < options.size(); ++i) {
        const int words = words_of_size(options[i]);
        if (words == 0) out.push_back(options[i]);
        if (words == 2) ++i;
    }
    return out;
}

bool is_passed_on(std::string_view entry) {
    const std::size_t end = entry.find('=');
    if (end == std::string_view::npos || end == 0) return false;
    const std::string_view name = entry.substr(0, end);
    if (std::ranges::find(kOfOneJob, name) != kOfOneJob.end()) return false;
    if (name.starts_with(kOptionOfSpank)) return !name.starts_with(kOptionOfOurs);
    // A program may select its training by the number of its array task.
    if (!name.starts_with("SLURM") || name.starts_with("SLURM_ARRAY_")) return true;
    return std::ranges::find(kWishes, name) != kWishes.end();
}

std::string step_wait(const SrunCall &call) {
    std::string wait = "0";
    for (const std::string &entry : call.environment)
        if (entry.starts_with("SLURM_WAIT=")) wait = entry.substr(entry.find('=') + 1);
    const std::vector<std::string> &words = call.arguments;
    const std::size_t end = words.size() - std::min(call.program_words, words.size());
    for (std::size_t i = 1; i < end; ++i) {
        if (words[i] == "--wait" || words[i] == "-W")
            wait = i + 1 < end ? words[i + 1] : wait;
        else if (words[i].starts_with("--wait="))
            wait = words[i].substr(7);
        else if (words[i].size() > 2 && words[i].starts_with("-W"))
            wait = words[i].substr(2);
    }
    return wait.find_first_not_of('0') == std::string::npos ? "" : wait;
}

std::optional<std::string> script_of(const SrunCall &call) {
    const std::vector<std::string> &words = call.arguments;
    if (call.program_words == 0 || words.size() < call.program_words + 1) return std::nullopt;
    const auto program = words.end() - static_cast<std::ptrdiff_t>(call.program_words);
    char mask[8];
    std::snprintf(mask, sizeof mask, "%04o", static_cast<unsigned>(call.umask) & 0777);
    std::string out = "# An extension of this job repeats its srun.\numask " + std::string(mask);
    const std::string files = call.open_files ? std::to_string(*call.open_files) : "unlimited";
    out += "\nulimit -S -n " + files + " 2>/dev/null || :\ncd";
    append_quoted(out, call.directory);
    out += " || exit 1\nexec env";
    for (const std::string &entry : call.environment)
        if (is_passed_on(entry)) append_quoted(out, entry);
    append_quoted(out, words.front());
    for (const std::string &option : without_size({words.begin() + 1, program}))
        append_quoted(out, option);
    out += std::string(" -n \"$") + records::kExtensionTasks +
           "\" --open-mode=append --kill-on-bad-exit=1";
    for (auto word = program; word != words.end(); ++word) append_quoted(out, *word);
    out += '\n';
    return out.size() <= kSrunRecordBytesMax ? std::optional(out) : std::nullopt;
}

}  // namespace ringrt::slurm
