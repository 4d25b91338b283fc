// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/shared_limits.h"

#include <slurm/slurmdb.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "slurm_plugin/slurm/cluster/allowed_size.h"
#include "slurm_plugin/slurm/cluster/slurm_lists.h"

namespace ringrt::slurm {

namespace {

using controller::JobRecord;
using controller::SharedLimit;
using What = SharedLimit::What;

constexpr int kShortMost = 1 << 30;
constexpr std::size_t kAskedMost = 16;  // requests, each for one more level of accounts

uint64_t wanted(const JobRecord &job) {
    const auto at_least_0 = [](int count) { return static_cast<uint64_t>(std::max(0, count)); };
    switch (job.at_limit.what) {
        case What::gpus:
            return at_least_0(job.gpus_requested);
        case What::cpus:
            return at_least_0(job.cpus_requested);
        case What::nodes:
            return at_least_0(job.nodes_requested);
        case What::memory:
            return job.memory.total_mb(job.gpus_requested, job.cpus_requested, job.nodes_requested);
        case What::other:
            break;
    }
    return 0;
}

bool is_meant(const JobRecord &job, const std::string &tres) {
    switch (job.at_limit.what) {
        case What::gpus:
            return tres == "gres/gpu" ||
                   (!job.gpu_type.empty() && tres == "gres/gpu:" + job.gpu_type);
        case What::cpus:
            return tres == "cpu";
        case What::nodes:
            return tres == "node";
        case What::memory:
            return tres == "mem";
        case What::other:
            break;
    }
    return false;
}

// How much more the job wants than the limit leaves; 0: nothing.
int short_of(const JobRecord &job, uint64_t limit, uint64_t in_use) {
    const uint64_t left = limit > in_use ? limit - in_use : 0;
    const uint64_t want = wanted(job);
    return want > left ? static_cast<int>(std::min<uint64_t>(want - left, kShortMost)) : 0;
}

// Calls visit(i) for each TRES that the job waits for, in the order of Slurm's arrays.
template <typename Visit>
void for_each_meant(const JobRecord &job, const assoc_mgr_info_msg_t &info, Visit visit) {
    for (uint32_t i = 0; i < info.tres_cnt; ++i)
        if (is_meant(job, bounded_text(info.tres_names[i], 256))) visit(i);
}

// The tightest limit of the account, its user there, and the accounts above it.
SharedLimit at_account(const JobRecord &job, const assoc_mgr_info_msg_t &info,
                       const Parents &parents) {
    SharedLimit out = job.at_limit;
    out.of_user = false;
    out.whose.clear();
    out.short_by = 0;
    const std::vector<std::string> above = accounts_above(job.account, parents);
    for_each<slurmdb_assoc_rec_t>(info.assoc_list, [&](const slurmdb_assoc_rec_t &assoc) {
        const bool of_account = bounded_text(assoc.user, 1).empty();
        if (assoc.usage == nullptr || (!of_account && assoc.uid != job.user_id)) return;
        const std::string account = bounded_text(assoc.acct, 256);
        const bool is_above = of_account && std::ranges::find(above, account) != above.end();
        if (account != job.account && !is_above) return;
        for_each_meant(job, info, [&](uint32_t i) {
            if (!is_limited(assoc.grp_tres_ctld, i)) return;
            const uint64_t *used = assoc.usage->grp_used_tres;
            const int lacks = short_of(job, assoc.grp_tres_ctld[i], used == nullptr ? 0 : used[i]);
            if (lacks <= out.short_by) return;
            out.short_by = lacks;
            out.of_user = !of_account;
            out.whose = is_above ? account : std::string();
        });
    });
    return out;
}

// A limit of a QOS, and the usage that counts against it, by TRES.
struct OfQos {
    const uint64_t *limits, *used;
};
OfQos limits_of(const JobRecord &job, const slurmdb_qos_rec_t &qos) {
    if (job.at_limit.of_user) return {qos.max_tres_pu_ctld, used_by_user(*qos.usage, job.user_id)};
    if (job.at_limit.of_account)
        return {qos.max_tres_pa_ctld, used_by_account(*qos.usage, job.account)};
    return {qos.grp_tres_ctld, qos.usage->grp_used_tres};
}

// Of its QOS or its partition's QOS; if both set a limit, of the one that holds.
SharedLimit at_qos(const JobRecord &job, const assoc_mgr_info_msg_t &info) {
    SharedLimit out = job.at_limit;
    out.whose.clear();
    out.short_by = 0;
    const Classes classes = classes_of(job, info);
    for_each_meant(job, info, [&](uint32_t i) {
        for (const slurmdb_qos_rec_t *qos : classes) {
            const auto [limits, used] = limits_of(job, *qos);
            if (!is_limited(limits, i)) continue;
            const int lacks = short_of(job, limits[i], used == nullptr ? 0 : used[i]);
            if (lacks > out.short_by) {
                out.short_by = lacks;
                out.whose = is_name(qos->name, job.qos) ? std::string() : job.partition_qos;
            }
            return;
        }
    });
    return out;
}

bool is_at_limit(const JobRecord &job) {
    return job.phase == controller::JobPhase::pending &&
           job.pending_reason == controller::PendingReason::limit &&
           job.at_limit.what != What::other;
}

bool is_sized(const JobRecord &job) {
    return job.intent && job.phase != controller::JobPhase::finished;
}

}  // namespace

bool has_limited_job(const std::vector<JobRecord> &jobs) {
    return std::ranges::any_of(jobs, [](const JobRecord &job) {
        return is_sized(job) && !(job.account.empty() && job.qos.empty());
    });
}

bool SharedLimits::ask(std::vector<JobRecord> &jobs, const SiteLimits &site, ApiTimes &api) {
    asked_ = Clock::now();
    std::set<std::string> accounts, classes;
    for (const JobRecord &job : jobs) {
        if (is_sized(job) || (is_at_limit(job) && !job.at_limit.of_qos))
            accounts.insert(job.account);
        if (is_sized(job) || (is_at_limit(job) && job.at_limit.of_qos)) {
            classes.insert(job.qos);
            classes.insert(job.partition_qos);
        }
    }
    // An answer names the parents of the requested accounts: if one is new, the request is
    // repeated.
    for (std::size_t asked = 0; asked < kAskedMost; ++asked) {
        for (const std::string &name : std::set<std::string>(accounts))
            for (auto above = parents_.find(name);
                 above != parents_.end() && accounts.insert(above->second).second;)
                above = parents_.find(above->second);
        accounts.erase(std::string());
        classes.erase(std::string());
        assoc_mgr_info_msg_t *limits = load(accounts, classes, api);
        if (limits == nullptr) return false;
        const bool is_complete = !note_parents(*limits, accounts);
        const bool is_new = is_complete && note_limits(*limits, site, jobs);
        slurm_free_assoc_mgr_info_msg(limits);
        if (is_complete) return is_new;
    }
    return false;
}

assoc_mgr_info_msg_t *SharedLimits::load(const std::set<std::string> &accounts,
                                         const std::set<std::string> &classes, ApiTimes &api) {
    const NameList of_accounts(accounts), of_qos(classes);
    assoc_mgr_info_request_msg_t request{};
    request.acct_list = of_accounts.list;
    request.qos_list = of_qos.list;
    if (!accounts.empty()) request.flags |= ASSOC_MGR_INFO_FLAG_ASSOC;
    if (!classes.empty()) request.flags |= ASSOC_MGR_INFO_FLAG_QOS;
    assoc_mgr_info_msg_t *limits = nullptr;
    const int rc =
        api.time(Call::load_limits, [&] { return slurm_load_assoc_mgr_info(&request, &limits); });
    return rc == SLURM_SUCCESS ? limits : nullptr;
}

bool SharedLimits::note_parents(const assoc_mgr_info_msg_t &limits,
                                std::set<std::string> &accounts) {
    bool is_new = false;
    for (const auto &[account, above] : parents_of(limits)) {
        parents_[account] = above;
        is_new |= accounts.insert(above).second;
    }
    return is_new;
}

void keep_noted(const JobRecord &before, JobRecord &job) {
    job.gpus_allowed = before.gpus_allowed;
    job.accounts_above = before.accounts_above;
    const SharedLimit &was = before.at_limit;
    if (is_at_limit(job) && was.what == job.at_limit.what && was.of_qos == job.at_limit.of_qos &&
        was.of_account == job.at_limit.of_account)
        job.at_limit = was;
}

bool note_limits(const assoc_mgr_info_msg_t &limits, const SiteLimits &site,
                 std::vector<JobRecord> &jobs) {
    bool is_new = false;
    const Parents parents = parents_of(limits);
    for (JobRecord &job : jobs) {
        const SharedLimit at_limit = job.at_limit;
        const std::optional<int> allowed = job.gpus_allowed;
        if (is_at_limit(job))
            job.at_limit =
                job.at_limit.of_qos ? at_qos(job, limits) : at_account(job, limits, parents);
        if (is_sized(job)) {
            std::vector<std::string> above = accounts_above(job.account, parents);
            is_new |= above != job.accounts_above;
            job.accounts_above = std::move(above);
            job.gpus_allowed = gpus_allowed(job, limits, site);
        }
        is_new |= at_limit != job.at_limit || allowed != job.gpus_allowed;
    }
    return is_new;
}

}  // namespace ringrt::slurm
