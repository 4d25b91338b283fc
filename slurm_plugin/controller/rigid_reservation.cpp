// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/rigid_reservation.h"

#include <algorithm>
#include <optional>

#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/controller/node_room.h"
#include "slurm_plugin/controller/pausing.h"
#include "slurm_plugin/controller/reach.h"
#include "slurm_plugin/controller/rigid_plan.h"
#include "slurm_plugin/controller/rigid_room.h"

namespace ringrt::controller {

namespace {

constexpr std::size_t kRigidLookedAt = 500;
constexpr int kPlannedMost = 8;  // the next jobs get their turn later
constexpr int kSpreadMost = 16;  // nodes that are tried for a job of several types

// Removes GPUs from one pool for its pending rigid jobs, by priority and submit time.
class RigidReservation {
  public:
    RigidReservation(Pool &pool, const Observation &observation,
                     const std::vector<MalleableJob> &jobs, NodeRoom &node_room,
                     const Options &options, const std::vector<const JobRecord *> &waiting)
        : pool_(pool),
          observation_(observation),
          node_room_(node_room),
          options_(options),
          room_(pool, observation, node_room) {
        for (const std::size_t index : pool.jobs) {
            const MalleableJob &job = jobs[index];
            if (job.stage == Stage::suspended) {
                (void)keep_min(job, job.record->gpus_requested);  // it can return nothing
            } else if (holds_gpus(job.stage)) {
                const bool pauses = may_pause_now(job, observation.now_s, options);
                const std::vector<policy::NodeShare> min = keep_min(job, job.intent.gpus_min);
                if (pauses) lend(min);
                if (job.may_move && !pauses) movable_.push_back({index, &job, min});
                room_.lenders.add(job, pauses);
                if (options.reclaim == Reclaim::higher_priority) by_priority_.push_back(&job);
            } else if (gave_up_its_place(job, observation.now_s, options)) {
                continue;
            } else if (job.is_resizing()) {
                restarting_.push_back(&job);
                promised_min_ += job.intent.gpus_min;
            } else if (std::ranges::find(waiting, job.record) == waiting.end()) {
                by_priority_.push_back(&job);
            }
        }
        std::sort(by_priority_.begin(), by_priority_.end(),
                  [](const MalleableJob *a, const MalleableJob *b) {
                      return a->record->priority > b->record->priority;
                  });
    }

    // Call for each rigid job in order of falling priority.
    void reserve_for(const JobRecord &rigid) {
        for (;
             next_ < by_priority_.size() && by_priority_[next_]->record->priority >= rigid.priority;
             ++next_)
            keep_all(*by_priority_[next_]);
        if (rigid.intent) return reserve_min_for(rigid);
        if (is_hopeless(rigid)) return;
        if (!rigid.gpus_of_types.empty()) return reserve_types_for(rigid);
        const bool is_for_one_node = rigid.nodes_requested <= 1 && rigid.nodes_most == 1;
        const std::vector<policy::NodeShare> shares =
            rigid.any_shares && !is_for_one_node ? any_shares_for(rigid) : equal_shares_for(rigid);
        if (shares.empty()) {
            plan_for(rigid);
            note_unserved(pool_, rigid);
            return;
        }
        give(rigid, shares);
    }

  private:
    void give(const JobRecord &rigid, const std::vector<policy::NodeShare> &shares) {
        for (const auto &[node, gpus] : shares) room_.give(rigid, node, gpus);
        pool_.has_pending = true;
    }

    // The MIN of a malleable job. If nodes that are up suffice, the policy gives it these.
    void reserve_min_for(const JobRecord &job) {
        if (std::vector<policy::NodeShare> up = equal_shares_for(job, true); !up.empty()) {
            for (const auto &[node, gpus] : up) room_.promise_min(job, node, gpus);
            pool_.min_places[job.id] = std::move(up);
            pool_.has_pending = true;
            return;
        }
        const std::vector<policy::NodeShare> shares = equal_shares_for(job);
        if (shares.empty()) promised_min_ += job.gpus_requested;
        if (!shares.empty()) give(job, shares);
    }

    // The same GPUs on each node, on the fewest nodes. No place is planned for such a job.
    void reserve_types_for(const JobRecord &rigid) {
        const int least = std::max(1, rigid.nodes_requested);
        int most = least;
        if (rigid.any_shares) most = rigid.nodes_most > 0 ? rigid.nodes_most : kSpreadMost;
        for (int nodes = least; nodes <= std::min(most, least + kSpreadMost); ++nodes) {
            const JobRecord even = spread_evenly(rigid, nodes);
            const std::vector<policy::NodeShare> shares = equal_shares_for(even);
            if (!shares.empty()) return give(even, shares);
        }
        note_unserved(pool_, rigid);
    }

    // A job of the same shape that needs no more has found no place, and no place is planned for
    // this one. So a long queue of equal jobs costs little.
    [[nodiscard]] bool is_hopeless(const JobRecord &rigid) const {
        const bool has_plan = rigid.gpus_requested > 0 && rigid.gpus_of_types.empty();
        if (has_plan && planned_ < kPlannedMost) return false;
        return has_unserved_like(pool_, rigid);
    }

    // Reserves the nodes where the job will start.
    void plan_for(const JobRecord &rigid) {
        if (planned_ == kPlannedMost) return;
        ++planned_;
        if (!planner_) planner_.emplace(observation_, pool_, node_room_, lent_min_);
        const std::optional<RigidPlan> plan =
            planner_->plan(rigid, room_.room(), movable_, restarting_, promised_min_);
        if (!plan) return;
        for (const auto &[index, to] : plan->moves) {
            Movable &one = movable_[index];
            for (const auto &[node, gpus] : one.min) room_.subtract(node, -gpus);
            for (const auto &[node, gpus] : to) room_.subtract(node, gpus);
            one.min = to;
            room_.lenders.remove(*one.malleable);
            // A second plan may move it on: that place counts, for the first rigid job.
            pool_.moving.try_emplace(one.job, Pool::Move{.rigid = rigid.id, .to = {}})
                .first->second.to = to;
        }
        for (const auto &[index, gpus, freed] : plan->shares) {
            const auto node = static_cast<std::size_t>(index);
            room_.subtract(index, gpus);
            if (observation_.nodes[node].asleep) {
                pool_.take_asleep(node, gpus);
                continue;
            }
            int &capacity = pool_.capacity.node_gpus[node], &free = pool_.free.node_gpus[node];
            const int taken = std::clamp(gpus - freed, 0, std::max(0, capacity));
            capacity -= taken;
            free = std::max(std::min(0, free), free - taken);
            pool_.capacity.kept_for_rigid += taken;
            if (taken > 0) pool_.reserved_nodes.push_back(index);
        }
        pool_.has_pending = true;
    }

    // The MIN of a job that may be paused. No other job's MIN moves there.
    void lend(const std::vector<policy::NodeShare> &min) {
        for (const auto &[node, gpus] : min) room_.subtract(node, -gpus);
        lent_min_.insert(lent_min_.end(), min.begin(), min.end());
    }

    // A running job keeps its MIN on its first nodes.
    std::vector<policy::NodeShare> keep_min(const MalleableJob &job, int gpus) {
        std::vector<policy::NodeShare> out;
        for (const auto &[node, held] : job.record->gpus_on_node) {
            const int kept = std::min(held, gpus);
            if (kept > 0) out.emplace_back(node, kept);
            room_.subtract(node, kept);
            gpus -= kept;
        }
        return out;
    }

    // A malleable job ahead of the rigid job: its GPUs are not reclaimed, or its MIN comes first.
    void keep_all(const MalleableJob &job) {
        if (!holds_gpus(job.stage)) {
            promised_min_ += job.intent.gpus_min;
            return;
        }
        room_.lenders.remove(job);
        std::erase_if(movable_, [&](const Movable &one) { return one.malleable == &job; });
        int min = kept_from_rigid(job, observation_.now_s, options_);
        for (const auto &[node, held] : job.record->gpus_on_node) {
            room_.subtract(node, held - std::min(held, min));
            min -= std::min(held, min);
        }
    }

    // The GPUs that jobs there must return for this many.
    [[nodiscard]] Lenders::Cost cost_at(const JobRecord &rigid, int node, int gpus) const {
        return room_.price(rigid, node, gpus, gpus).cost;
    }

    [[nodiscard]] Lenders::Cost cost_of(const JobRecord &rigid,
                                        const std::vector<policy::NodeShare> &shares) const {
        Lenders::Cost out;
        for (const auto &[node, share] : shares) out += cost_at(rigid, node, share);
        return out;
    }

    // Both choose the nodes on which the job could start if malleable jobs returned what they
    // borrowed: the fewest jobs to shrink, then the most free GPUs; empty: it could not start.
    // In equal shares on the requested number of nodes (a job without GPUs: shares of none); on
    // nodes that are up only, if so requested.
    [[nodiscard]] std::vector<policy::NodeShare> equal_shares_for(const JobRecord &rigid,
                                                                  bool is_awake = false) const {
        struct Place {
            Lenders::Cost cost;
            int lacks = 0, node = 0;

            auto operator<=>(const Place &) const = default;
        };
        const std::size_t count = static_cast<std::size_t>(
            rigid.gpus_requested == 0 ? node_room_.nodes_for(rigid)
                                      : std::max(1, rigid.nodes_requested));
        const int most =
            (rigid.gpus_requested + static_cast<int>(count) - 1) / static_cast<int>(count);
        std::vector<Place> places;
        int total = -promised_min_;
        for (std::size_t i = 0; i < room_.room().size(); ++i) {
            const int node = static_cast<int>(i);
            if (is_awake && observation_.nodes[i].asleep) continue;
            if (!room_.is_candidate(rigid, node)) continue;
            const int own = node_room_.demand(rigid, node, most).gpus;
            total += std::max(most - own, room_.room_on(rigid, node));
            if (const std::optional<int> kept = room_.kept_for(rigid, node, most)) {
                const RigidRoom::Price price = room_.price(rigid, node, own, *kept);
                places.push_back({price.cost, price.lacks, node});
            }
        }
        if (total < rigid.gpus_requested || places.size() < count) return {};
        std::ranges::partial_sort(places, places.begin() + static_cast<long>(count));
        std::vector<policy::NodeShare> shares;
        int left = rigid.gpus_requested;
        for (std::size_t i = 0; i < count; ++i) {
            shares.emplace_back(places[i].node, left / static_cast<int>(count - i));
            left -= shares.back().second;
        }
        return shares;
    }

    // In any shares, on as many nodes as needed: free GPUs first, or other nodes if that costs less
    // or if those are too many nodes.
    [[nodiscard]] std::vector<policy::NodeShare> any_shares_for(const JobRecord &rigid) {
        std::vector<int> nodes;
        int total = -promised_min_;
        room_for_.assign(room_.room().size(), 0);
        for (std::size_t i = 0; i < room_for_.size(); ++i) {
            const int node = static_cast<int>(i);
            int &room = room_for_[i];
            room = room_.room_on(rigid, node);
            while (room > 0 && !room_.kept_for(rigid, node, room)) --room;
            if (room <= 0 || !room_.is_candidate(rigid, node)) continue;
            total += room;
            nodes.push_back(node);
        }
        const auto least = static_cast<std::size_t>(std::max(1, rigid.nodes_requested));
        if (total < rigid.gpus_requested || nodes.size() < least) return {};
        const auto most = static_cast<std::size_t>(rigid.nodes_most);
        std::vector<policy::NodeShare> best;
        const auto try_in_this_order = [&] {
            const std::vector<policy::NodeShare> shares = first_shares(rigid, nodes, least);
            if (most > 0 && shares.size() > most) return;
            if (best.empty() || cost_of(rigid, shares) < cost_of(rigid, best)) best = shares;
        };
        std::ranges::stable_sort(
            nodes, [&](int a, int b) { return room_.free_on(rigid, a) > room_.free_on(rigid, b); });
        try_in_this_order();
        if (!best.empty() && cost_of(rigid, best) < Lenders::Cost{.jobs = 2}) return best;
        std::ranges::stable_sort(nodes, [&](int a, int b) { return room_at(a) > room_at(b); });
        try_in_this_order();
        sort_by_cost(rigid, nodes);
        try_in_this_order();
        return best;
    }

    // By the cost of all GPUs that the node can give the job.
    void sort_by_cost(const JobRecord &rigid, std::vector<int> &nodes) const {
        std::vector<std::pair<Lenders::Cost, int>> order;
        for (const int node : nodes)
            order.emplace_back(cost_at(rigid, node, std::min(rigid.gpus_requested, room_at(node))),
                               node);
        std::ranges::stable_sort(order, {}, &std::pair<Lenders::Cost, int>::first);
        for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = order[i].second;
    }

    [[nodiscard]] int room_at(int node) const { return room_for_[static_cast<std::size_t>(node)]; }

    // On the first nodes that have enough room, at least `least` of them: one GPU on each, then the
    // free GPUs there, then the lent ones.
    [[nodiscard]] std::vector<policy::NodeShare> first_shares(const JobRecord &rigid,
                                                              const std::vector<int> &nodes,
                                                              std::size_t least) const {
        std::vector<policy::NodeShare> shares;
        int room = 0, left = rigid.gpus_requested;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (room >= rigid.gpus_requested && i >= least) break;
            room += room_at(nodes[i]);
            shares.emplace_back(nodes[i], std::min(left, 1));
            left -= shares.back().second;
        }
        for (const bool lent_too : {false, true})
            for (auto &[node, share] : shares) {
                const int there =
                    lent_too ? room_at(node) : std::min(room_at(node), room_.free_on(rigid, node));
                const int more = std::clamp(there - share, 0, left);
                share += more;
                left -= more;
            }
        return shares;
    }

    Pool &pool_;
    const Observation &observation_;
    NodeRoom &node_room_;
    const Options &options_;
    RigidRoom room_;
    std::vector<Movable> movable_;
    std::vector<policy::NodeShare> lent_min_;
    std::vector<const MalleableJob *> restarting_;
    std::optional<RigidPlanner> planner_;
    int planned_ = 0;
    std::vector<int> room_for_;  // per node, for the present job, given its CPUs and memory
    int promised_min_ = 0;       // to malleable jobs that hold none and come first
    std::vector<const MalleableJob *>
        by_priority_;  // jobs ahead of rigid jobs of lower or equal priority only
    std::size_t next_ = 0;
};

}  // namespace

void reserve_for_rigid(Pool &pool, const Observation &observation,
                       const std::vector<MalleableJob> &jobs, NodeRoom &node_room,
                       std::vector<const JobRecord *> waiting, const Options &options) {
    std::sort(waiting.begin(), waiting.end(), [](const JobRecord *a, const JobRecord *b) {
        if (a->priority != b->priority) return a->priority > b->priority;
        return a->submit_s != b->submit_s ? a->submit_s < b->submit_s : a->id < b->id;
    });
    // As many as Slurm's own backfill examines: later ones have no chance yet.
    if (waiting.size() > kRigidLookedAt) waiting.resize(kRigidLookedAt);
    RigidReservation reservation(pool, observation, jobs, node_room, options, waiting);
    for (const JobRecord *rigid : waiting) reservation.reserve_for(*rigid);
}

}  // namespace ringrt::controller
