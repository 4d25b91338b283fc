// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/shared_limit.h"

#include <algorithm>

#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt::controller {

namespace {

using What = SharedLimit::What;

constexpr std::size_t kPendingJobsMax = 100;  // the first of them: later ones have no chance yet
constexpr double kRescheduled_s = 10;         // by then Slurm has checked the pending jobs again

struct Amounts {
    int64_t gpus = 0, cpus = 0, nodes = 0, mb = 0;

    int64_t &of(What what) {
        return what == What::memory  ? mb
               : what == What::cpus  ? cpus
               : what == What::nodes ? nodes
                                     : gpus;
    }
};

// A running malleable job, and its planned size.
struct Giver {
    const MalleableJob *job = nullptr;
    Target *target = nullptr;
    int gpus_per_node = 1;
    int size = 0;
    bool may_give = false;
    bool has_just_given = false;  // Slurm may not have checked the pending jobs since
    Amounts left;                 // of what it gives, not yet promised

    [[nodiscard]] Amounts holds(int gpus) const {
        if (gpus == 0) return {};  // it pauses
        const records::Layout &layout = job->intent.layout;
        const int nodes = records::nodes_of(layout, gpus, gpus_per_node);
        const int tasks = records::tasks_of(layout, gpus, nodes);
        Amounts out{.gpus = gpus, .cpus = tasks * job->record->cpus_per_task, .nodes = nodes};
        out.mb = static_cast<int64_t>(job->record->memory.total_mb(out.gpus, out.cpus, out.nodes));
        return out;
    }
    void shrink_to(int gpus) {
        const Amounts before = holds(size), after = holds(gpus);
        left.gpus += before.gpus - after.gpus;
        left.cpus += before.cpus - after.cpus;
        left.nodes += before.nodes - after.nodes;
        left.mb += before.mb - after.mb;
        size = gpus;
    }
    [[nodiscard]] bool can_halve() const {
        return may_give && size / 2 >= job->intent.gpus_min &&
               records::on_ladder({job->intent.gpus_min, job->intent.gpus_max}, size);
    }
};

bool gives_to_rigid(const MalleableJob &job) {
    return job.intent.why == to_string(policy::Reason::gave_to_rigid);
}

// Each running job, minus what it already gives: its resize is under way, or the policy has decided
// on it. A silent job gives nothing.
std::vector<Giver> givers(const std::vector<MalleableJob> &jobs, double now_s, Plan &plan) {
    std::vector<Giver> out;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const MalleableJob &job = jobs[i];
        Target &target = plan.targets[i];
        if (target.job.id == 0 || target.pool < 0) continue;
        if (!holds_gpus(job.stage) && !(job.is_resizing() && gives_to_rigid(job))) continue;
        Giver giver{.job = &job,
                    .target = &target,
                    .gpus_per_node =
                        plan.pools[static_cast<std::size_t>(target.pool)].capacity.gpus_per_node,
                    .size = job.record->gpus_requested,
                    .may_give = holds_gpus(job.stage) && !target.job.pinned,
                    .has_just_given = gives_to_rigid(job) && !is_silent(job, now_s) &&
                                      (job.is_resizing() || job.intent.resizes > 0) &&
                                      age_s(job.intent.since_s, now_s) < kRescheduled_s};
        const int wanted = target.job.pinned ? target.job.gpus_now : target.allotment.gpus;
        if (wanted < giver.size && !is_silent(job, now_s)) giver.shrink_to(wanted);
        out.push_back(giver);
    }
    return out;
}

// The job that has borrowed the most halves its size first. False, with nothing changed: all
// borrowed GPUs are not enough, or Slurm has not yet shown whether the last return is enough.
bool serve(const JobRecord &waiting, const std::vector<Giver *> &below) {
    const What what = waiting.at_limit.what;
    int64_t need = waiting.at_limit.short_by;
    const auto take = [&](Giver &giver) {
        const int64_t taken = std::clamp<int64_t>(giver.left.of(what), 0, need);
        giver.left.of(what) -= taken;
        need -= taken;
    };
    for (Giver *giver : below) take(*giver);
    while (need > 0) {
        Giver *most = nullptr;
        for (Giver *giver : below) {
            if (giver->has_just_given) return false;
            if (giver->can_halve() && (!most || giver->size > most->size)) most = giver;
        }
        if (!most) return false;
        most->shrink_to(most->size / 2);
        take(*most);
    }
    return true;
}

void serve_or_leave(const JobRecord &waiting, std::vector<Giver> &all) {
    std::vector<Giver *> below;
    std::vector<Giver> before;
    for (Giver &giver : all)
        if (shares_limit(waiting, *giver.job->record)) {
            below.push_back(&giver);
            before.push_back(giver);
        }
    if (serve(waiting, below)) return;
    for (std::size_t i = 0; i < below.size(); ++i) *below[i] = before[i];
}

bool is_below_account(const JobRecord &waiting, const JobRecord &other) {
    const SharedLimit &limit = waiting.at_limit;
    if (limit.whose.empty() || limit.of_qos) return waiting.account == other.account;
    return other.account == limit.whose ||
           std::ranges::find(other.accounts_above, limit.whose) != other.accounts_above.end();
}

bool is_in_qos(const JobRecord &waiting, const JobRecord &other) {
    const std::string &name = waiting.at_limit.whose.empty() ? waiting.qos : waiting.at_limit.whose;
    return other.qos == name || other.partition_qos == name;
}

}  // namespace

bool shares_limit(const JobRecord &waiting, const JobRecord &other) {
    const SharedLimit &limit = waiting.at_limit;
    if (limit.of_licences)
        return std::ranges::find_first_of(waiting.licences, other.licences) !=
               waiting.licences.end();
    return (limit.of_account || limit.of_qos) &&
           (!limit.of_account || is_below_account(waiting, other)) &&
           (!limit.of_qos || is_in_qos(waiting, other)) &&
           (!limit.of_user || waiting.user_id == other.user_id);
}

bool would_follow(const JobRecord &waiting, const JobRecord &leaving) {
    const SharedLimit &limit = waiting.at_limit;
    const bool is_of_user = !limit.of_licences && !limit.of_time;
    return shares_limit(waiting, leaving) || (is_of_user && waiting.user_id == leaving.user_id);
}

std::optional<int> size_below_limits(const MalleableJob &job, const Options &options) {
    const JobRecord &record = *job.record;
    if (keeps_array_slot(job)) return record.gpus_requested;
    if (!record.gpus_allowed || (job.is_live && !options.extension_qos.empty()))
        return std::nullopt;
    const records::GpuRange range{job.intent.gpus_min, job.intent.gpus_max};
    const bool runs = record.phase != JobPhase::pending;
    return std::max(records::most_on_ladder(range, *record.gpus_allowed),
                    runs ? record.gpus_requested : 0);
}

std::vector<const JobRecord *> waiting_at_limits(const Observation &observation) {
    std::vector<const JobRecord *> out;
    for (const JobRecord &job : observation.jobs)
        if (job.phase == JobPhase::pending && job.pending_reason == PendingReason::limit)
            out.push_back(&job);
    std::ranges::stable_sort(out, std::ranges::greater(), &JobRecord::priority);
    if (out.size() > kPendingJobsMax) out.resize(kPendingJobsMax);
    return out;
}

void give_at_limits(const std::vector<const JobRecord *> &waiting,
                    const std::vector<MalleableJob> &jobs, double now_s, Plan &plan) {
    if (waiting.empty()) return;
    std::vector<Giver> all = givers(jobs, now_s, plan);
    for (const JobRecord *job : waiting) {
        // A malleable job counts only while it is pending for its first GPUs.
        if (job->intent && job->gpus_requested > job->intent->gpus_min) continue;
        if (job->at_limit.short_by > 0) serve_or_leave(*job, all);
    }
    for (Giver &giver : all) {
        policy::Allotment &allotment = giver.target->allotment;
        const bool gives = giver.may_give && giver.size < giver.job->record->gpus_requested;
        if (!gives || giver.size >= allotment.gpus) continue;
        allotment.gpus = giver.target->placeable_gpus = giver.size;
        allotment.reason = policy::Reason::gave_to_rigid;
        giver.target->gap_contended = false;
    }
}

}  // namespace ringrt::controller
