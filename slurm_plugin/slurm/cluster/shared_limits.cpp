// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/shared_limits.h"

#include <slurm/slurmdb.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "slurm_plugin/slurm/cluster/slurm_records.h"

namespace ringrt::slurm {

namespace {

using controller::JobRecord;
using controller::SharedLimit;
using What = SharedLimit::What;

constexpr int kShortMost = 1 << 20;

// Calls visit(record) for each of Slurm's list, which may be null.
template <typename Record, typename List, typename Visit>
void for_each(List list, Visit visit) {
    if (list == nullptr) return;
    auto *iterator = slurm_list_iterator_create(list);
    while (auto *record = static_cast<Record *>(slurm_list_next(iterator))) visit(*record);
    slurm_list_iterator_destroy(iterator);
}

// Slurm's list of names, which stay the set's: without it slurmctld tells of all that there are.
struct NameList {
    explicit NameList(const std::set<std::string> &names) {
        for (const std::string &name : names)
            slurm_list_append(list, const_cast<char *>(name.c_str()));
    }
    ~NameList() { slurm_list_destroy(list); }
    NameList(const NameList &) = delete;
    NameList &operator=(const NameList &) = delete;

    decltype(assoc_mgr_info_request_msg_t::acct_list) list = slurm_list_create(nullptr);
};

int wanted(const JobRecord &job) {
    switch (job.at_limit.what) {
        case What::gpus:
            return job.gpus_requested;
        case What::cpus:
            return job.cpus_requested;
        case What::nodes:
            return job.nodes_requested;
        case What::other:
            break;
    }
    return 0;
}

bool is_meant(const JobRecord &job, const std::string &tres) {
    switch (job.at_limit.what) {
        case What::gpus:
            return tres == "gres/gpu" ||
                   (!job.gpu_kind.empty() && tres == "gres/gpu:" + job.gpu_kind);
        case What::cpus:
            return tres == "cpu";
        case What::nodes:
            return tres == "node";
        case What::other:
            break;
    }
    return false;
}

// How much more is wanted than is left of the limits; 0: nothing. By TRES, as all of Slurm's
// arrays.
int short_of(const JobRecord &job, const assoc_mgr_info_msg_t &info, const uint64_t *limits,
             const uint64_t *used) {
    int most = 0;
    if (limits == nullptr) return most;
    for (uint32_t i = 0; i < info.tres_cnt; ++i) {
        if (!is_meant(job, bounded_text(info.tres_names[i], 256))) continue;
        if (limits[i] == INFINITE64 || limits[i] == NO_VAL64) continue;
        const uint64_t in_use = used == nullptr ? 0 : used[i];
        const uint64_t left = limits[i] > in_use ? limits[i] - in_use : 0;
        const auto want = static_cast<uint64_t>(wanted(job));
        if (want > left) most = std::max(most, static_cast<int>(want - left));
    }
    return most;
}

bool is(const char *text, const std::string &name) { return bounded_text(text, 256) == name; }

SharedLimit at_account(const JobRecord &job, const assoc_mgr_info_msg_t &info) {
    SharedLimit out = job.at_limit;
    for_each<slurmdb_assoc_rec_t>(info.assoc_list, [&](const slurmdb_assoc_rec_t &assoc) {
        const bool of_account = bounded_text(assoc.user, 1).empty();
        if (!is(assoc.acct, job.account) || (!of_account && assoc.uid != job.user_id)) return;
        if (assoc.usage == nullptr) return;
        const int lacks = short_of(job, info, assoc.grp_tres_ctld, assoc.usage->grp_used_tres);
        if (lacks <= out.short_by) return;
        out.short_by = lacks;
        out.of_user = !of_account;
    });
    return out;
}

SharedLimit at_qos(const JobRecord &job, const assoc_mgr_info_msg_t &info) {
    SharedLimit out = job.at_limit;
    for_each<slurmdb_qos_rec_t>(info.qos_list, [&](const slurmdb_qos_rec_t &qos) {
        if (!is(qos.name, job.qos) || qos.usage == nullptr) return;
        const auto used_by = [&](auto list, auto is_it) {
            const uint64_t *used = nullptr;
            for_each<slurmdb_used_limits_t>(list, [&](const slurmdb_used_limits_t &one) {
                if (is_it(one)) used = one.tres;
            });
            return used;
        };
        if (out.of_user)
            out.short_by = short_of(
                job, info, qos.max_tres_pu_ctld,
                used_by(qos.usage->user_limit_list,
                        [&](const slurmdb_used_limits_t &one) { return one.uid == job.user_id; }));
        else if (out.of_account)
            out.short_by =
                short_of(job, info, qos.max_tres_pa_ctld,
                         used_by(qos.usage->acct_limit_list, [&](const slurmdb_used_limits_t &one) {
                             return is(one.acct, job.account);
                         }));
        else
            out.short_by = short_of(job, info, qos.grp_tres_ctld, qos.usage->grp_used_tres);
    });
    return out;
}

bool is_at_limit(const JobRecord &job) {
    return job.phase == controller::JobPhase::pending &&
           job.pending_reason == controller::PendingReason::limit &&
           job.at_limit.what != What::other;
}

}  // namespace

SharedLimit with_shortage(const JobRecord &job, const assoc_mgr_info_msg_t &limits) {
    SharedLimit out = job.at_limit.of_qos ? at_qos(job, limits) : at_account(job, limits);
    out.short_by = std::min(out.short_by, kShortMost);
    return out;
}

void note_shortages(std::vector<JobRecord> &jobs, ApiTimes &api) {
    std::set<std::string> accounts, classes;
    bool has_malleable = false;
    for (const JobRecord &job : jobs) {
        has_malleable |= job.intent.has_value();
        if (!is_at_limit(job)) continue;
        if (job.at_limit.of_qos)
            classes.insert(job.qos);
        else
            accounts.insert(job.account);
    }
    if (!has_malleable || (accounts.empty() && classes.empty())) return;
    const NameList of_accounts(accounts), of_qos(classes);
    assoc_mgr_info_request_msg_t request{};
    request.acct_list = of_accounts.list;
    request.qos_list = of_qos.list;
    if (!accounts.empty()) request.flags |= ASSOC_MGR_INFO_FLAG_ASSOC;
    if (!classes.empty()) request.flags |= ASSOC_MGR_INFO_FLAG_QOS;
    assoc_mgr_info_msg_t *limits = nullptr;
    const int rc =
        api.time(Call::load_limits, [&] { return slurm_load_assoc_mgr_info(&request, &limits); });
    if (rc != SLURM_SUCCESS || limits == nullptr) return;
    for (JobRecord &job : jobs)
        if (is_at_limit(job)) job.at_limit = with_shortage(job, *limits);
    slurm_free_assoc_mgr_info_msg(limits);
}

}  // namespace ringrt::slurm
