// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/allowed_size.h"

#include <slurm/slurmdb.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "slurm_plugin/slurm/cluster/slurm_lists.h"

namespace ringrt::slurm {

namespace {

using controller::JobPhase;
using controller::JobRecord;

// A job and one TRES: its need at each size, and what it holds now, which a resize returns.
struct Share {
    double amount = 0;  // 0: this TRES sets no limit
    int per_gpus = 1;   // one amount per group of this many GPUs, a partial group included
    double held = 0;
    // Jobs may share nodes, which count once: the rest is unknown if other jobs use some.
    bool may_be_shared = false;
};

// In a partition that allocates whole nodes, a job has more than it requested.
int gpus_held(const JobRecord &job) {
    if (job.phase != JobPhase::running && job.phase != JobPhase::suspended) return 0;
    int gpus = 0;
    for (const auto &[node, held] : job.gpus_on_node) gpus += held;
    return std::max({0, gpus, job.gpus_requested});
}

// Slurm may allocate more than requested (whole cores): a running job shows how many.
double cpus_per_gpu(const JobRecord &job, int held) {
    const records::Layout &layout = job.intent->layout;
    if (layout.task_per_node)  // then it depends on the nodes
        return layout.gpus_per_node > 0
                   ? static_cast<double>(job.cpus_per_task) / layout.gpus_per_node
                   : 0;
    const double told = held > 0 ? static_cast<double>(job.cpus_requested) / held : 0;
    return std::max<double>(job.cpus_per_task, told);
}

// For the fewest possible nodes.
int gpus_per_node(const JobRecord &job, int most_on_a_node) {
    const int fixed = job.intent->layout.gpus_per_node;
    return std::max(1, fixed > 0 ? fixed : most_on_a_node);
}

Share memory_of(const JobRecord &job, int held, int most_on_a_node) {
    using Per = controller::MemoryRequest::Per;
    const auto mb = static_cast<double>(job.memory.mb);
    switch (job.memory.per) {
        case Per::gpu:
            return {.amount = mb, .held = mb * held};
        case Per::cpu:
            return {.amount = mb * cpus_per_gpu(job, held),
                    .held = held > 0 ? mb * job.cpus_requested : 0};
        case Per::node:
            return {.amount = mb,
                    .per_gpus = gpus_per_node(job, most_on_a_node),
                    .held = mb * static_cast<double>(job.gpus_on_node.size())};
    }
    return {};
}

Share share_of(const JobRecord &job, const std::string &tres, int most_on_a_node) {
    const int held = gpus_held(job);
    if (tres == "gres/gpu" || (!job.gpu_type.empty() && tres == "gres/gpu:" + job.gpu_type))
        return {.amount = 1, .held = static_cast<double>(held)};
    if (tres == "cpu")
        return {.amount = cpus_per_gpu(job, held),
                .held = held > 0 ? std::max(0, job.cpus_requested) : 0.0};
    if (tres == "mem") return memory_of(job, held, most_on_a_node);
    if (tres == "node")
        return {.amount = 1,
                .per_gpus = gpus_per_node(job, most_on_a_node),
                .held = static_cast<double>(job.gpus_on_node.size()),
                .may_be_shared = true};
    // The weights of a partition are not queried: the present run shows the cost per GPU.
    if (tres == "billing" && held > 0) return {.amount = job.billing / held, .held = job.billing};
    return {};
}

// A limit on the minutes of a TRES. A job needs those of its time limit to start.
struct Minutes {
    const uint64_t *limits = nullptr;
    const long double *used_s = nullptr;  // so far; null: none
    const uint64_t *running_s = nullptr;  // what running jobs may still use; null: none
};

// Until its time limit. Of a running job, the remaining time; its next limit is in whole minutes.
struct TimeLeft {
    double s = 0, next_min = 0;  // 0: not known, or unlimited
};

TimeLeft time_left(const JobRecord &job) {
    if (!job.time_limit_s) return {};
    auto left_s = static_cast<double>(*job.time_limit_s);
    if (job.phase == JobPhase::running && job.start_s > 0)
        left_s = std::max(0.0, left_s + job.start_s + job.suspended_s - job.slurmctld_s);
    return {left_s, std::max(1.0, std::floor(left_s / 60))};
}

using Arrays = std::vector<const uint64_t *>;

class Allowed {
  public:
    Allowed(const JobRecord &job, const assoc_mgr_info_msg_t &info, const SiteLimits &site)
        : time_(site.is_safe ? time_left(job) : TimeLeft{}) {
        for (uint32_t i = 0; i < info.tres_cnt; ++i)
            shares_.push_back(
                share_of(job, bounded_text(info.tres_names[i], 256), site.most_on_a_node));
    }
    // All arrays are by TRES, as in Slurm. used: by all jobs below this limit; null: none, or the
    // limit is on single jobs. A limit in one of `instead` replaces this one.
    void below(const uint64_t *limits, const uint64_t *used, const Arrays &instead) {
        for (uint32_t i = 0; i < shares_.size(); ++i) {
            const Share &share = shares_[i];
            const auto limits_it = [&](const uint64_t *other) { return is_limited(other, i); };
            if (share.amount <= 0 || !is_limited(limits, i)) continue;
            if (std::ranges::any_of(instead, limits_it)) continue;
            const double in_use = used == nullptr ? 0 : static_cast<double>(used[i]);
            const double others = std::max(0.0, in_use - share.held);
            if (share.may_be_shared && others > 0) continue;
            const double left = std::max(0.0, static_cast<double>(limits[i]) - others);
            most_ = std::min(most_, std::floor(left / share.amount) * share.per_gpus);
        }
    }
    void below(const Minutes &minutes, const Arrays &instead) {
        for (uint32_t i = 0; i < shares_.size() && time_.next_min > 0; ++i) {
            const Share &share = shares_[i];
            const auto limits_it = [&](const uint64_t *other) { return is_limited(other, i); };
            if (share.amount <= 0 || share.may_be_shared || !is_limited(minutes.limits, i))
                continue;
            if (std::ranges::any_of(instead, limits_it)) continue;
            double in_use_s = 0;
            if (minutes.used_s != nullptr) in_use_s += static_cast<double>(minutes.used_s[i]);
            if (minutes.running_s != nullptr) in_use_s += static_cast<double>(minutes.running_s[i]);
            const double others_s = std::max(0.0, in_use_s - share.held * time_.s);
            const double left =
                std::max(0.0, static_cast<double>(minutes.limits[i]) - others_s / 60);
            most_ = std::min(most_,
                             std::floor(left / (share.amount * time_.next_min)) * share.per_gpus);
        }
    }
    [[nodiscard]] std::optional<int> gpus() const {
        if (most_ > std::numeric_limits<int>::max()) return std::nullopt;
        return static_cast<int>(most_);
    }

  private:
    std::vector<Share> shares_;
    TimeLeft time_;
    double most_ = std::numeric_limits<double>::infinity();
};

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
        allowed.below({qos->grp_tres_mins_ctld, qos->usage->usage_tres_raw,
                       qos->usage->grp_used_tres_run_secs},
                      arrays_of(before, &slurmdb_qos_rec_t::grp_tres_mins_ctld));
        below(&slurmdb_qos_rec_t::max_tres_pj_ctld, nullptr);
        below(&slurmdb_qos_rec_t::max_tres_pu_ctld, used_by_user(*qos->usage, job.user_id));
        below(&slurmdb_qos_rec_t::max_tres_pa_ctld, used_by_account(*qos->usage, job.account));
        before.push_back(qos);
    }
}

// The limits on all jobs together, of the account, its user, or an account above.
void below_group(const slurmdb_assoc_rec_t &assoc, const Classes &classes, Allowed &allowed) {
    if (assoc.usage == nullptr) return;
    allowed.below(assoc.grp_tres_ctld, assoc.usage->grp_used_tres,
                  arrays_of(classes, &slurmdb_qos_rec_t::grp_tres_ctld));
    allowed.below({assoc.grp_tres_mins_ctld, assoc.usage->usage_tres_raw,
                   assoc.usage->grp_used_tres_run_secs},
                  arrays_of(classes, &slurmdb_qos_rec_t::grp_tres_mins_ctld));
}

// The limits of the account itself, or of its user.
void below_association(const JobRecord &job, const slurmdb_assoc_rec_t &assoc,
                       const Classes &classes, Allowed &allowed) {
    const bool of_account = bounded_text(assoc.user, 1).empty();
    const std::string partition = bounded_text(assoc.partition, 256);
    if (assoc.usage == nullptr || !is_name(assoc.acct, job.account)) return;
    if (!of_account && assoc.uid != job.user_id) return;
    if (!partition.empty() && partition != job.partition) return;
    below_group(assoc, classes, allowed);
    if (!of_account)
        allowed.below(assoc.max_tres_ctld, nullptr,
                      arrays_of(classes, &slurmdb_qos_rec_t::max_tres_pj_ctld));
}

}  // namespace

std::optional<int> gpus_allowed(const JobRecord &job, const assoc_mgr_info_msg_t &limits,
                                const SiteLimits &site) {
    Allowed allowed(job, limits, site);
    const Classes classes = classes_of(job, limits);
    below_qos(job, classes, allowed);
    const std::vector<std::string> &above = job.accounts_above;
    for_each<slurmdb_assoc_rec_t>(limits.assoc_list, [&](const slurmdb_assoc_rec_t &assoc) {
        below_association(job, assoc, classes, allowed);
        // Skips user associations: most records at a site with many users.
        if (!bounded_text(assoc.user, 1).empty()) return;
        if (std::ranges::find(above, bounded_text(assoc.acct, 256)) != above.end())
            below_group(assoc, classes, allowed);
    });
    return allowed.gpus();
}

}  // namespace ringrt::slurm
