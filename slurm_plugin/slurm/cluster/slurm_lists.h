// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's lists, and the records of accounts and QOS in them.
#pragma once

#include <slurm/slurm.h>
#include <slurm/slurmdb.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "slurm_plugin/slurm/cluster/slurm_records.h"

namespace ringrt::slurm {

// Calls visit(record) for each element of Slurm's list, which may be null.
template <typename Record, typename List, typename Visit>
void for_each(List list, Visit visit) {
    if (list == nullptr) return;
    auto *iterator = slurm_list_iterator_create(list);
    while (auto *record = static_cast<Record *>(slurm_list_next(iterator))) visit(*record);
    slurm_list_iterator_destroy(iterator);
}

// DefCpuPerGPU in a list of defaults; 0: none.
template <typename List>
[[nodiscard]] int default_cpus_per_gpu(List defaults) {
    constexpr uint64_t kMost = 1 << 16;
    uint64_t cpus = 0;
    for_each<job_defaults_t>(defaults, [&](const job_defaults_t &one) {
        if (one.type == JOB_DEF_CPU_PER_GPU) cpus = one.value < kMost ? one.value : 0;
    });
    return static_cast<int>(cpus);
}

// Slurm's list of names; the set owns the strings. Without a list, slurmctld returns all records.
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

inline bool is_name(const char *text, const std::string &name) {
    return bounded_text(text, 256) == name;
}

// `limits` is an array by TRES, and may be null.
inline bool is_limited(const uint64_t *limits, uint32_t tres) {
    return limits != nullptr && limits[tres] != INFINITE64 && limits[tres] != NO_VAL64;
}

// The present usage of a QOS by one of its users or accounts, by TRES; null: none.
inline const uint64_t *used_by_user(const slurmdb_qos_usage_t &usage, uint32_t user_id) {
    const uint64_t *used = nullptr;
    for_each<slurmdb_used_limits_t>(usage.user_limit_list, [&](const slurmdb_used_limits_t &one) {
        if (one.uid == user_id) used = one.tres;
    });
    return used;
}
inline const uint64_t *used_by_account(const slurmdb_qos_usage_t &usage, const std::string &name) {
    const uint64_t *used = nullptr;
    for_each<slurmdb_used_limits_t>(usage.acct_limit_list, [&](const slurmdb_used_limits_t &one) {
        if (is_name(one.acct, name)) used = one.tres;
    });
    return used;
}

// The QOS whose limits hold for a job. If both set a limit, that of the first holds.
using Classes = std::vector<const slurmdb_qos_rec_t *>;

inline Classes classes_of(const controller::JobRecord &job, const assoc_mgr_info_msg_t &info) {
    Classes out;
    const auto add = [&](const std::string &name) {
        for_each<slurmdb_qos_rec_t>(info.qos_list, [&](const slurmdb_qos_rec_t &qos) {
            if (is_name(qos.name, name) && qos.usage != nullptr) out.push_back(&qos);
        });
    };
    if (!job.partition_qos.empty() && job.partition_qos != job.qos) add(job.partition_qos);
    add(job.qos);
    if (!out.empty() && (out.back()->flags & QOS_FLAG_OVER_PART_QOS) != 0)
        std::ranges::reverse(out);
    return out;
}

// The parent account of each account in the answer.
using Parents = std::map<std::string, std::string>;

inline Parents parents_of(const assoc_mgr_info_msg_t &info) {
    Parents out;
    for_each<slurmdb_assoc_rec_t>(info.assoc_list, [&](const slurmdb_assoc_rec_t &assoc) {
        // Skips user associations: most records at a site with many users.
        if (!bounded_text(assoc.user, 1).empty()) return;
        const std::string above = bounded_text(assoc.parent_acct, 256);
        if (!above.empty()) out[bounded_text(assoc.acct, 256)] = above;
    });
    return out;
}

// The accounts above `account`, nearest first.
inline std::vector<std::string> accounts_above(const std::string &account, const Parents &parents) {
    constexpr std::size_t kDeep = 16;
    std::vector<std::string> out;
    for (auto at = parents.find(account); at != parents.end() && out.size() < kDeep;
         at = parents.find(at->second))
        out.push_back(at->second);
    return out;
}

}  // namespace ringrt::slurm
