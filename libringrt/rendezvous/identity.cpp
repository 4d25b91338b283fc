// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/rendezvous/identity.h"

#include <cstdlib>
#include <optional>

namespace ringrt {
namespace {

constexpr int kRanksMax = 1 << 16;

std::string text(const char *name) {
    const char *value = getenv(name);
    return value == nullptr ? "" : value;
}

std::optional<int> number(const char *name) {
    std::string value = text(name);
    if (value.empty()) return {};
    char *end = nullptr;
    long parsed = strtol(value.c_str(), &end, 10);
    if (*end != 0 || parsed < 0 || parsed > kRanksMax) return {};
    return int(parsed);
}

}  // namespace

Identity identity_from_environment() {
    Identity identity{.rank = 0, .size = 1, .local_rank = -1, .job = "alone"};
    std::string job = text("SLURM_JOB_ID"), step = text("SLURM_STEP_ID");
    if (step.empty()) step = text("SLURM_STEPID");
    auto rank = number("SLURM_PROCID"), size = number("SLURM_NTASKS");
    bool in_batch_script = !job.empty() && step.empty();
    if (!rank || !size || *size < 1 || *rank >= *size || in_batch_script) return identity;
    identity.rank = *rank, identity.size = *size;
    identity.local_rank = number("SLURM_LOCALID").value_or(-1);
    std::string restarts = text("SLURM_RESTART_COUNT");
    identity.job = job + "." + step + "." + (restarts.empty() ? "0" : restarts);
    return identity;
}

std::string node_label() {
    if (std::string label = text("RINGRT_NODE"); !label.empty()) return label;
    if (text("RINGRT_SHARE_HOST") == "1") return "";
    return text("SLURM_NODEID");
}

}  // namespace ringrt
