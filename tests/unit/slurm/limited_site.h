// SPDX-License-Identifier: GPL-2.0-or-later
// An account, a user and a QOS with limits, as slurmctld reports them.
#pragma once

#include <slurm/slurm.h>
#include <slurm/slurmdb.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/slurm/cluster/allowed_size.h"
#include "slurm_plugin/slurm/cluster/shared_limits.h"
#include "slurm_plugin/slurm/cluster/slurm_lists.h"
#include "tests/support/check.h"

namespace ringrt::test {

using controller::JobPhase;
using controller::JobRecord;
using slurm::note_limits;

enum Tres { cpu, node, gpu, a100, h100, mem, billing, count };
constexpr int kMostOnANode = 4;
using Amounts = std::array<uint64_t, count>;

constexpr Amounts unlimited() {
    Amounts out{};
    out.fill(INFINITE64);
    return out;
}
inline Amounts limit(Tres tres, uint64_t most) {
    Amounts out = unlimited();
    out[tres] = most;
    return out;
}

struct Qos {
    slurmdb_qos_usage_t usage{};
    slurmdb_qos_rec_t record{};

    Qos(std::string &name, Amounts &group, Amounts &in_use) {
        record.name = name.data();
        record.usage = &usage;
        record.grp_tres_ctld = group.data();
        usage.grp_used_tres = in_use.data();
    }
};

// Of the account itself, or of its user if `record.user` is set.
struct Association {
    slurmdb_assoc_usage_t usage{};
    slurmdb_assoc_rec_t record{};

    Association(std::string &account, Amounts &group, Amounts &in_use) {
        record.acct = account.data();
        record.usage = &usage;
        record.grp_tres_ctld = group.data();
        usage.grp_used_tres = in_use.data();
    }
};

// User 5 in account physics with QOS team, and what jobs hold under their limits.
struct Site {
    Amounts qos_group = unlimited(), qos_job = unlimited(), qos_user = unlimited(),
            qos_account = unlimited(), account_group = unlimited(), user_group = unlimited(),
            user_job = unlimited(), partition_group = unlimited(), parent_group = unlimited();
    Amounts in_qos{}, of_user_in_qos{}, of_account_in_qos{}, in_account{}, of_user{},
        in_partition{}, in_parent{};
    uint32_t user = 5;  // the user of the records
    std::string account = "physics", qos = "team", partition, partition_qos = "largest";
    bool is_over_partition = false;  // OverPartQOS
    bool is_safe = false;
    // Minutes of the account, of the account above, and of the QOS; and seconds used there.
    Amounts account_mins = unlimited(), parent_mins = unlimited(), qos_mins = unlimited();
    Amounts running_s{};
    std::array<long double, count> used_s{};

    std::optional<int> allow(const JobRecord &job) {
        std::vector<JobRecord> jobs{job};
        note(jobs);
        return jobs[0].gpus_allowed;
    }
    bool note(std::vector<JobRecord> &jobs) {
        std::array<char *, count> names{};
        for (std::size_t i = 0; i < count; ++i) names[i] = names_[i].data();
        assoc_mgr_info_msg_t info{};
        info.tres_cnt = count;
        info.tres_names = names.data();

        slurmdb_used_limits_t by_user{}, by_account{};
        by_user.uid = user;
        by_user.tres = of_user_in_qos.data();
        by_account.acct = account.data();
        by_account.tres = of_account_in_qos.data();
        Qos of_job(qos, qos_group, in_qos),
            of_partition(partition_qos, partition_group, in_partition);
        slurmdb_qos_usage_t &qos_usage = of_job.usage;
        qos_usage.user_limit_list = slurm_list_create(nullptr);
        qos_usage.acct_limit_list = slurm_list_create(nullptr);
        slurm_list_append(qos_usage.user_limit_list, &by_user);
        slurm_list_append(qos_usage.acct_limit_list, &by_account);
        slurmdb_qos_rec_t &the_qos = of_job.record;
        the_qos.max_tres_pj_ctld = qos_job.data();
        the_qos.max_tres_pu_ctld = qos_user.data();
        the_qos.max_tres_pa_ctld = qos_account.data();

        if (is_over_partition) the_qos.flags = QOS_FLAG_OVER_PART_QOS;

        std::string parent = "science", root = "root", name = "alice";
        Association the_account(account, account_group, in_account),
            the_user(account, user_group, of_user), the_parent(parent, parent_group, in_parent);
        the_account.record.parent_acct = parent.data();
        the_parent.record.parent_acct = root.data();
        the_account.record.grp_tres_mins_ctld = account_mins.data();
        the_parent.record.grp_tres_mins_ctld = parent_mins.data();
        the_qos.grp_tres_mins_ctld = qos_mins.data();
        for (auto *usage : {&the_account.usage, &the_parent.usage}) {
            usage->usage_tres_raw = used_s.data();
            usage->grp_used_tres_run_secs = running_s.data();
        }
        qos_usage.usage_tres_raw = used_s.data();
        qos_usage.grp_used_tres_run_secs = running_s.data();
        the_user.record.user = name.data();
        the_user.record.uid = user;
        the_user.record.partition = partition.data();
        the_user.record.max_tres_ctld = user_job.data();

        info.qos_list = slurm_list_create(nullptr);
        info.assoc_list = slurm_list_create(nullptr);
        slurm_list_append(info.qos_list, &the_qos);
        slurm_list_append(info.qos_list, &of_partition.record);
        for (Association *one : {&the_account, &the_user, &the_parent})
            slurm_list_append(info.assoc_list, &one->record);
        const bool is_new = note_limits(info, {kMostOnANode, is_safe}, jobs);
        for (auto *list :
             {qos_usage.user_limit_list, qos_usage.acct_limit_list, info.qos_list, info.assoc_list})
            slurm_list_destroy(list);
        return is_new;
    }

  private:
    std::array<std::string, count> names_{"cpu",           "node", "gres/gpu", "gres/gpu:a100",
                                          "gres/gpu:h100", "mem",  "billing"};
};

inline JobRecord waiting_job() {
    JobRecord job{.id = 1,
                  .partition = "main",
                  .user_id = 5,
                  .gpus_requested = 1,
                  .cpus_requested = 1,
                  .account = "physics",
                  .qos = "team"};
    job.intent = records::Intent{.gpus_min = 1, .gpus_max = 8};
    return job;
}

inline JobRecord running_job(int gpus) {
    JobRecord job = waiting_job();
    job.phase = JobPhase::running;
    job.gpus_requested = job.cpus_requested = gpus;
    return job;
}

inline Amounts used(uint64_t gpus) {
    Amounts out{};
    out[cpu] = out[gpu] = out[a100] = gpus;
    return out;
}

}  // namespace ringrt::test
