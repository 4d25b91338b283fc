// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/pending_reason.h"

#include <algorithm>
#include <string_view>

#include "slurm_plugin/slurm/cluster/slurm_records.h"

namespace ringrt::slurm {

using controller::PendingReason;

namespace {

std::optional<controller::SharedLimit> other_limit_of(uint32_t reason) {
    switch (reason) {
        case WAIT_LICENSES:
            return controller::SharedLimit{.of_licences = true};
        case WAIT_ASSOC_GRP_CPU_MIN:
        case WAIT_ASSOC_GRP_CPU_RUN_MIN:
        case WAIT_ASSOC_GRP_GRES_MIN:
        case WAIT_ASSOC_GRP_GRES_RUN_MIN:
        case WAIT_ASSOC_GRP_BILLING_MIN:
        case WAIT_ASSOC_GRP_BILLING_RUN_MIN:
            return controller::SharedLimit{.of_account = true, .of_time = true};
        case WAIT_QOS_GRP_CPU_MIN:
        case WAIT_QOS_GRP_CPU_RUN_MIN:
        case WAIT_QOS_GRP_GRES_MIN:
        case WAIT_QOS_GRP_GRES_RUN_MIN:
        case WAIT_QOS_GRP_BILLING_MIN:
        case WAIT_QOS_GRP_BILLING_RUN_MIN:
            return controller::SharedLimit{.of_qos = true, .of_time = true};
        default:
            return std::nullopt;
    }
}

}  // namespace

std::optional<controller::SharedLimit> limit_of(uint32_t reason) {
    using Limit = controller::SharedLimit;
    using enum Limit::What;
    struct Known {
        uint32_t reason;
        Limit limit;
    };
    // An account's limit may also be that of its user in it, or of an account above.
    constexpr Limit::What kAny = other;
    constexpr auto account = [](Limit::What what) {
        return Limit{.what = what, .of_account = true};
    };
    constexpr auto qos = [](Limit::What what) { return Limit{.what = what, .of_qos = true}; };
    constexpr auto user = [](Limit::What what) {
        return Limit{.what = what, .of_qos = true, .of_user = true};
    };
    constexpr auto both = [](Limit::What what) {
        return Limit{.what = what, .of_account = true, .of_qos = true};
    };
    static constexpr Known kLimits[] = {
        {WAIT_ASSOC_JOB_LIMIT, account(kAny)},     {WAIT_ASSOC_RESOURCE_LIMIT, account(kAny)},
        {WAIT_ASSOC_MAX_JOBS, account(kAny)},      {WAIT_ASSOC_GRP_JOB, account(kAny)},
        {WAIT_ASSOC_GRP_MEM, account(memory)},     {WAIT_ASSOC_GRP_CPU, account(cpus)},
        {WAIT_ASSOC_GRP_NODE, account(nodes)},     {WAIT_ASSOC_GRP_GRES, account(gpus)},
        {WAIT_ASSOC_GRP_BILLING, account(gpus)},   {WAIT_QOS_JOB_LIMIT, qos(kAny)},
        {WAIT_QOS_RESOURCE_LIMIT, qos(kAny)},      {WAIT_QOS_GRP_JOB, qos(kAny)},
        {WAIT_QOS_GRP_MEM, qos(memory)},           {WAIT_QOS_GRP_CPU, qos(cpus)},
        {WAIT_QOS_GRP_NODE, qos(nodes)},           {WAIT_QOS_GRP_GRES, qos(gpus)},
        {WAIT_QOS_GRP_BILLING, qos(gpus)},         {WAIT_QOS_MAX_JOB_PER_USER, user(kAny)},
        {WAIT_QOS_MAX_MEM_PER_USER, user(memory)}, {WAIT_QOS_MAX_UNK_PER_USER, user(kAny)},
        {WAIT_QOS_MAX_CPU_PER_USER, user(cpus)},   {WAIT_QOS_MAX_NODE_PER_USER, user(nodes)},
        {WAIT_QOS_MAX_GRES_PER_USER, user(gpus)},  {WAIT_QOS_MAX_BILLING_PER_USER, user(gpus)},
        {WAIT_QOS_MAX_JOB_PER_ACCT, both(kAny)},   {WAIT_QOS_MAX_MEM_PER_ACCT, both(memory)},
        {WAIT_QOS_MAX_CPU_PER_ACCT, both(cpus)},   {WAIT_QOS_MAX_NODE_PER_ACCT, both(nodes)},
        {WAIT_QOS_MAX_GRES_PER_ACCT, both(gpus)},
    };
    const auto known = std::ranges::find(kLimits, reason, &Known::reason);
    if (known == std::end(kLimits)) return other_limit_of(reason);
    return known->limit;
}

PendingReason waits_of(const slurm_job_info_t &job) {
    if (job.priority == 0) return PendingReason::held;
    switch (job.state_reason) {
        case WAIT_NO_REASON:
            return PendingReason::none;
        case WAIT_HELD:
        case WAIT_HELD_USER:
            return PendingReason::held;
        case WAIT_TIME:
            return PendingReason::begin_time;
        case WAIT_RESOURCES:
            return PendingReason::resources;
        case WAIT_PRIORITY:
            return PendingReason::priority;
        case WAIT_BURST_BUFFER_STAGING:
            return PendingReason::staging;
        case WAIT_DEPENDENCY:
        case WAIT_DEP_INVALID:
        case WAIT_ARRAY_TASK_LIMIT:
            return PendingReason::dependency;
        default:
            return limit_of(job.state_reason) ? PendingReason::limit : PendingReason::other;
    }
}

controller::SlurmHold slurm_hold_of(const slurm_job_info_t &job) {
    using controller::SlurmHold;
    if (job.priority != 0) return SlurmHold::none;
    if (job.state_reason == FAIL_BAD_CONSTRAINTS) return SlurmHold::bad_constraints;
    // In 22.05 to 26.05, only this text distinguishes this hold from one by a user.
    const bool failed = bounded_text(job.state_desc).starts_with("launch failed requeued held");
    return failed ? SlurmHold::launch_failed : SlurmHold::none;
}

bool waits_at_limit(const slurm_job_info_t &job) {
    const bool is_pending = (job.job_state & JOB_STATE_BASE) == JOB_PENDING &&
                            (job.job_state & (JOB_COMPLETING | JOB_REVOKED)) == 0;
    return is_pending && waits_of(job) == PendingReason::limit;
}

std::vector<std::string> licence_names(const std::string &licences) {
    std::string_view text = licences;
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t end = text.find_first_of(",;|");
        const std::string_view one = text.substr(0, end), name = one.substr(0, one.find(':'));
        if (!name.empty()) out.emplace_back(name);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return out;
}

}  // namespace ringrt::slurm
