// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/allowed_size.h"

#include <slurm/slurmdb.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "slurm_plugin/slurm/cluster/slurm_lists.h"

namespace ringrt::slurm {

namespace {

using controller::JobPhase;
using controller::JobRecord;

constexpr std::size_t kAccountsDeep = 16;

// A job and one TRES: what each of its GPUs takes of it, and what it holds of it now, which it
// gives back at a resize.
struct Share {
    double per_gpu = 0;  // 0: this TRES does not limit it
    uint64_t held = 0;
};

// Where a partition gives whole nodes, it has more than it asked for.
int gpus_held(const JobRecord &job) {
    if (job.phase != JobPhase::running && job.phase != JobPhase::suspended) return 0;
    int gpus = 0;
    for (const auto &[node, held] : job.gpus_on_node) gpus += held;
    return std::max({0, gpus, job.gpus_requested});
}

// Slurm may give more than was asked for (whole cores): what it runs with tells.
double cpus_per_gpu(const JobRecord &job, int held) {
    const records::Layout &layout = job.intent->layout;
    if (layout.task_per_node)  // then it depends on the nodes
        return layout.gpus_per_node > 0
                   ? static_cast<double>(job.cpus_per_task) / layout.gpus_per_node
                   : 0;
    const double told = held > 0 ? static_cast<double>(job.cpus_requested) / held : 0;
    return std::max<double>(job.cpus_per_task, told);
}

Share share_of(const JobRecord &job, const std::string &tres) {
    const int held = gpus_held(job);
    if (tres == "gres/gpu" || (!job.gpu_kind.empty() && tres == "gres/gpu:" + job.gpu_kind))
        return {.per_gpu = 1, .held = static_cast<uint64_t>(held)};
    if (tres == "cpu")
        return {.per_gpu = cpus_per_gpu(job, held),
                .held = held > 0 ? static_cast<uint64_t>(std::max(0, job.cpus_requested)) : 0};
    return {};
}

using Arrays = std::vector<const uint64_t *>;

class Allowed {
  public:
    Allowed(const JobRecord &job, const assoc_mgr_info_msg_t &info) {
        for (uint32_t i = 0; i < info.tres_cnt; ++i)
            shares_.push_back(share_of(job, bounded_text(info.tres_names[i], 256)));
    }
    // By TRES, as all of Slurm's arrays. used: by all jobs below this limit, null: by none, or it
    // is one of a single job. Where one of `instead` sets a limit, that one holds.
    void below(const uint64_t *limits, const uint64_t *used, const Arrays &instead) {
        for (uint32_t i = 0; i < shares_.size(); ++i) {
            const Share &share = shares_[i];
            const auto limits_it = [&](const uint64_t *other) { return is_limited(other, i); };
            if (share.per_gpu <= 0 || !is_limited(limits, i)) continue;
            if (std::ranges::any_of(instead, limits_it)) continue;
            const uint64_t in_use = used == nullptr ? 0 : used[i];
            const uint64_t others = in_use > share.held ? in_use - share.held : 0;
            const uint64_t left = limits[i] > others ? limits[i] - others : 0;
            most_ = std::min(most_, static_cast<double>(left) / share.per_gpu);
        }
    }
    [[nodiscard]] std::optional<int> gpus() const {
        if (most_ > std::numeric_limits<int>::max()) return std::nullopt;
        return static_cast<int>(most_);
    }

  private:
    std::vector<Share> shares_;
    double most_ = std::numeric_limits<double>::infinity();
};

// The QOS whose limits hold for a job: where both have one, the first one's.
using Classes = std::vector<const slurmdb_qos_rec_t *>;

Classes classes_of(const JobRecord &job, const assoc_mgr_info_msg_t &info) {
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

Arrays arrays_of(const Classes &classes, uint64_t *slurmdb_qos_rec_t::*which) {
    Arrays out;
    for (const slurmdb_qos_rec_t *qos : classes) out.push_back(qos->*which);
    return out;
}

void below_qos(const JobRecord &job, const Classes &classes, Allowed &allowed) {
    Classes before;
    for (const slurmdb_qos_rec_t *qos : classes) {
        const auto below = [&](uint64_t *slurmdb_qos_rec_t::*which, const uint64_t *used) {
            allowed.below(qos->*which, used, arrays_of(before, which));
        };
        below(&slurmdb_qos_rec_t::grp_tres_ctld, qos->usage->grp_used_tres);
        below(&slurmdb_qos_rec_t::max_tres_pj_ctld, nullptr);
        below(&slurmdb_qos_rec_t::max_tres_pu_ctld, used_by_user(*qos->usage, job.user_id));
        below(&slurmdb_qos_rec_t::max_tres_pa_ctld, used_by_account(*qos->usage, job.account));
        before.push_back(qos);
    }
}

// The job's account and those above it, the nearest first, as far as they are told of.
std::vector<std::string> accounts_of(const JobRecord &job, const assoc_mgr_info_msg_t &info) {
    std::vector<std::string> out{job.account};
    for (std::size_t i = 0; i < out.size() && i < kAccountsDeep; ++i)
        for_each<slurmdb_assoc_rec_t>(info.assoc_list, [&](const slurmdb_assoc_rec_t &assoc) {
            if (!bounded_text(assoc.user, 1).empty() || !is_name(assoc.acct, out[i])) return;
            const std::string above = bounded_text(assoc.parent_acct, 256);
            if (!above.empty() && std::ranges::find(out, above) == out.end()) out.push_back(above);
        });
    return out;
}

// That of an account above the job's: it holds for all below it together.
void below_parent(const slurmdb_assoc_rec_t &assoc, const Classes &classes, Allowed &allowed) {
    if (assoc.usage == nullptr) return;
    allowed.below(assoc.grp_tres_ctld, assoc.usage->grp_used_tres,
                  arrays_of(classes, &slurmdb_qos_rec_t::grp_tres_ctld));
}

// The account's own, or its user's.
void below_association(const JobRecord &job, const slurmdb_assoc_rec_t &assoc,
                       const Classes &classes, Allowed &allowed) {
    const bool of_account = bounded_text(assoc.user, 1).empty();
    const std::string partition = bounded_text(assoc.partition, 256);
    if (assoc.usage == nullptr || !is_name(assoc.acct, job.account)) return;
    if (!of_account && assoc.uid != job.user_id) return;
    if (!partition.empty() && partition != job.partition) return;
    allowed.below(assoc.grp_tres_ctld, assoc.usage->grp_used_tres,
                  arrays_of(classes, &slurmdb_qos_rec_t::grp_tres_ctld));
    if (!of_account)
        allowed.below(assoc.max_tres_ctld, nullptr,
                      arrays_of(classes, &slurmdb_qos_rec_t::max_tres_pj_ctld));
}

}  // namespace

std::optional<int> gpus_allowed(const JobRecord &job, const assoc_mgr_info_msg_t &limits) {
    Allowed allowed(job, limits);
    const Classes classes = classes_of(job, limits);
    below_qos(job, classes, allowed);
    const std::vector<std::string> accounts = accounts_of(job, limits);
    for_each<slurmdb_assoc_rec_t>(limits.assoc_list, [&](const slurmdb_assoc_rec_t &assoc) {
        below_association(job, assoc, classes, allowed);
        if (!bounded_text(assoc.user, 1).empty()) return;  // most are, at a site of many users
        const auto above = std::ranges::find(accounts, bounded_text(assoc.acct, 256));
        if (above != accounts.begin() && above != accounts.end())
            below_parent(assoc, classes, allowed);
    });
    return allowed.gpus();
}

}  // namespace ringrt::slurm
