// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/slurm_env.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ringrt {
namespace {

std::string variable(const char *name) {
    const char *value = getenv(name);
    return value == nullptr ? "" : value;
}

template <typename Number>
bool parse(const char *value, Number low, Number high, Number *out) {
    if (value == nullptr) return false;
    const std::string_view word(value, strnlen(value, 32));
    Number parsed{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), parsed);
    if (error != std::errc() || end != word.data() + word.size()) return false;
    if (parsed < low || parsed > high) return false;
    *out = parsed;
    return true;
}

// The last task of an array has the array's number, which scontrol takes for all of its tasks. The
// variables alone are not enough: a job submitted from a task inherits them.
std::string name_of(uint64_t job, const Environment &environment) {
    uint64_t array = 0, task = 0;
    const bool is_array_number =
        parse(environment("SLURM_ARRAY_JOB_ID"), uint64_t{1}, uint64_t{UINT32_MAX}, &array) &&
        parse(environment("SLURM_ARRAY_TASK_ID"), uint64_t{0}, uint64_t{UINT32_MAX}, &task) &&
        array == job;
    return std::to_string(job) + (is_array_number ? "_" + std::to_string(task) : "");
}

}  // namespace

Status slurm_identity(const Environment &environment, SlurmIdentity *out) {
    SlurmIdentity found;
    parse(environment("SLURM_JOB_ID"), uint64_t{1}, uint64_t{UINT32_MAX}, &found.job);
    if (found.job != 0) found.job_name = name_of(found.job, environment);
    parse(environment("SLURM_RESTART_COUNT"), 0U, UINT32_MAX, &found.restart);
    const char *step = environment("SLURM_STEP_ID");
    const char *rank = environment("SLURM_PROCID");
    const char *size = environment("SLURM_STEP_NUM_TASKS");
    if (size == nullptr) size = environment("SLURM_NTASKS");
    found.in_step = step != nullptr && rank != nullptr && size != nullptr;
    if (found.in_step) {
        if (!parse(rank, 0, kRanksMax - 1, &found.rank) || !parse(size, 1, kRanksMax, &found.size))
            return {RINGRT_INVALID_ARGUMENT,
                    format_text("SLURM_PROCID=%.20s of %.20s tasks: not numbers", rank, size)};
        parse(environment("SLURM_LOCALID"), 0, kRanksMax - 1, &found.local_rank);
        const char *job = environment("SLURM_JOB_ID");
        found.run = format_text("%.20s.%.20s.%u", job == nullptr ? "" : job, step, found.restart);
    }
    *out = std::move(found);
    return {};
}

std::string node_label() {
    if (std::string label = variable("RINGRT_NODE"); !label.empty()) return label;
    if (variable("RINGRT_SHARE_HOST") == "1") return "";
    if (std::string name = variable("SLURMD_NODENAME"); !name.empty()) return name;
    return variable("SLURM_NODEID");
}

}  // namespace ringrt
