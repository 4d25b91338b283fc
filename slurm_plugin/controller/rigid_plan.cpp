// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/rigid_plan.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/controller/reach.h"

namespace ringrt::controller {

using policy::NodeShare;
using policy::Packing;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kAhead_s = 86'400;  // as far as Slurm's backfill looks by default (bf_window)
// A node that a job has to leave counts as ready this much later, because a restart has a cost and
// a chosen place should stay the same.
constexpr double kMove_s = 60;

std::size_t at(int node) { return static_cast<std::size_t>(node); }

double end_of(const JobRecord &job) {
    if (!job.time_limit_s || job.phase == JobPhase::suspended) return kNever;
    return job.start_s + job.suspended_s + static_cast<double>(*job.time_limit_s);
}

// Places the job's MIN according to its layout, off these nodes.
bool place_min(Packing &packing, const MalleableJob &job, const std::vector<NodeShare> &off,
               std::vector<NodeShare> &where) {
    const int gpus = job.intent.gpus_min, most = job.intent.layout.gpus_per_node;
    Packing rest = packing;
    rest.occupy(off);
    const bool fits =
        most > 0 && gpus > most ? rest.place_apart(gpus, most, &where) : rest.place(gpus, &where);
    if (fits) packing.occupy(where);
    return fits;
}

std::vector<int> min_on_nodes(const std::vector<Movable> &movable, std::size_t nodes) {
    std::vector<int> min(nodes);
    for (const Movable &one : movable)
        for (const auto &[node, gpus] : one.min)
            if (node >= 0 && at(node) < nodes) min[at(node)] += gpus;
    return min;
}

}  // namespace

RigidPlanner::RigidPlanner(const Observation &observation, const Pool &pool,
                           const NodeRoom &node_room, const std::vector<NodeShare> &lent_min)
    : observation_(observation),
      pool_(pool),
      node_room_(node_room),
      ends_(observation.nodes.size()),
      lent_(observation.nodes.size()),
      lent_min_(lent_min) {
    for (const JobRecord &job : observation.jobs)
        for (const auto &[node, gpus] : job.gpus_on_node) {
            if (node < 0 || at(node) >= ends_.size()) continue;
            if (job.intent)
                lent_[at(node)] += gpus;
            else
                ends_[at(node)].emplace_back(end_of(job), held_with(job, gpus));
        }
    for (auto &ends : ends_) std::ranges::sort(ends, {}, &std::pair<double, NodeDemand>::first);
}

NodeDemand RigidPlanner::freed_by(int node, double time_s) const {
    NodeDemand out;
    for (const auto &[end_s, freed] : ends_[at(node)]) {
        if (end_s > time_s) break;
        out.gpus += freed.gpus;
        out.cpus += freed.cpus;
        out.mb += freed.mb;
    }
    return out;
}

// The times at which the node may become ready, from now on.
std::vector<double> RigidPlanner::ends_on(int node) const {
    std::vector<double> out{observation_.now_s};
    for (const auto &[end_s, freed] : ends_[at(node)])
        if (end_s > observation_.now_s && end_s <= observation_.now_s + kAhead_s)
            out.push_back(end_s);
    return out;
}

bool RigidPlanner::is_candidate(const JobRecord &rigid, int node, int gpus) const {
    const NodeRecord &record = observation_.nodes[at(node)];
    const NodeDemand demand = node_room_.demand(rigid, node, gpus);
    const bool takes_jobs = record.usable || record.asleep;
    if (is_of_another(rigid, record)) return false;
    return pool_.has_node[at(node)] && takes_jobs && may_use(rigid, record, node) &&
           (gpus > 0 || has_one_type(record)) && demand.gpus <= std::max(gpus, record.gpus) &&
           node_room_.fits_without_gpu_jobs(node, demand);
}

// How many GPUs of the node malleable jobs must not hold then so that the job gets this many, with
// its CPUs and memory. room: as many as they can return. Nothing: it could not start then.
std::optional<int> RigidPlanner::kept_at(const JobRecord &rigid, int node, int gpus, int room,
                                         double time_s) const {
    NodeDemand demand = node_room_.demand(rigid, node, gpus);
    const NodeDemand freed = freed_by(node, time_s);
    room = std::max(0, room) + freed.gpus;
    if (demand.gpus > room) return std::nullopt;
    demand.cpus -= freed.cpus;
    demand.mb -= freed.mb;
    const int idle =
        std::max(0, pool_.free.node_gpus[at(node)]) + pool_.asleep_on(at(node)) + freed.gpus;
    return node_room_.kept_gpus(node, demand, idle, room);
}

// The end of the job that makes the node ready; of a job without GPUs, what rigid jobs free is not
// foreseen.
double RigidPlanner::ready_s(const JobRecord &rigid, int node, int gpus, int room) const {
    for (const double time_s : ends_on(node)) {
        if (kept_at(rigid, node, gpus, room, time_s)) return time_s;
        if (rigid.gpus_requested == 0) break;
    }
    return kNever;
}

// What the node has to give at that time.
void RigidPlanner::settle(Candidate &one, const JobRecord &rigid, int share, int room, int min,
                          double time_s) const {
    one.ready_s = time_s;
    one.to_move = 0;
    if (const auto kept = kept_at(rigid, one.node, share, room, time_s)) {
        one.kept = *kept;
        return;
    }
    one.kept = kept_at(rigid, one.node, share, room + min, time_s).value_or(share);
    one.to_move = std::max(1, one.kept - std::max(0, room) - freed_by(one.node, time_s).gpus);
}

// The `count` nodes on which such a share is ready first; empty if there are fewer. Among nodes
// that are ready no later than the last one, nodes that no job has to leave come first.
std::vector<RigidPlanner::Candidate> RigidPlanner::soonest(
    const JobRecord &rigid, int share, std::size_t count, const std::vector<int> &room,
    const std::vector<Movable> &movable) const {
    const std::vector<int> min = min_on_nodes(movable, room.size());
    std::vector<Candidate> out;
    for (std::size_t i = 0; i < room.size(); ++i) {
        const int node = static_cast<int>(i);
        if (!is_candidate(rigid, node, share)) continue;
        double ready = ready_s(rigid, node, share, room[i]);
        if (min[i] > 0)
            ready = std::min(ready, ready_s(rigid, node, share, room[i] + min[i]) + kMove_s);
        if (ready <= observation_.now_s + kAhead_s)
            out.push_back({.ready_s = ready, .lent = lent_[i], .node = node});
    }
    // Of the parts of a node (node_parts.h), the one that is ready first.
    const auto key = [&](const Candidate &one) {
        return std::tuple(node_of(observation_.nodes, one.node), one.ready_s, one.node);
    };
    if (std::ranges::any_of(out, [&](const Candidate &one) {
            return observation_.nodes[at(one.node)].part_of >= 0;
        })) {
        std::ranges::sort(out, {}, key);
        const auto again = std::ranges::unique(
            out, {}, [&](const Candidate &one) { return std::get<0>(key(one)); });
        out.erase(again.begin(), again.end());
    }
    if (out.size() < count) return {};
    std::ranges::nth_element(out, out.begin() + static_cast<long>(count) - 1, {},
                             &Candidate::ready_s);
    const double last_s = out[count - 1].ready_s;
    std::erase_if(out, [&](const Candidate &one) { return one.ready_s > last_s; });
    for (Candidate &one : out)
        settle(one, rigid, share, room[at(one.node)], min[at(one.node)], last_s);
    // On ties the last node: Slurm fills nodes from the first.
    std::ranges::sort(
        out, {}, [](const Candidate &one) { return std::tuple(one.to_move, one.lent, -one.node); });
    out.resize(count);
    return out;
}

// All GPUs that each node can give the job then, the largest share first; empty: too few.
std::vector<RigidPlan::Share> RigidPlanner::shares_at(const JobRecord &rigid,
                                                      const std::vector<int> &nodes,
                                                      const std::vector<int> &room,
                                                      double time_s) const {
    std::vector<RigidPlan::Share> shares;
    for (const int node : nodes) {
        const int freed = freed_by(node, time_s).gpus;
        int gpus = std::min(rigid.gpus_requested, std::max(0, room[at(node)]) + freed);
        while (gpus > 0 && !kept_at(rigid, node, gpus, room[at(node)], time_s)) --gpus;
        if (gpus > 0) shares.push_back({.node = node, .gpus = gpus, .freed = freed});
    }
    std::ranges::stable_sort(shares, std::greater<>(), &RigidPlan::Share::gpus);
    if (rigid.nodes_most > 0 && shares.size() > at(rigid.nodes_most))
        shares.resize(at(rigid.nodes_most));
    int left = rigid.gpus_requested;
    for (RigidPlan::Share &share : shares) {
        share.gpus = std::min(share.gpus, left);
        left -= share.gpus;
        if (share.gpus > 0)
            share.gpus = kept_at(rigid, share.node, share.gpus, room[at(share.node)], time_s)
                             .value_or(share.gpus);
    }
    std::erase_if(shares, [](const RigidPlan::Share &share) { return share.gpus == 0; });
    return left > 0 ? std::vector<RigidPlan::Share>{} : shares;
}

// In any shares, with no MIN in the way.
std::optional<RigidPlan> RigidPlanner::any_shares(const JobRecord &rigid,
                                                  const std::vector<int> &room) const {
    std::vector<int> nodes;
    std::vector<double> times;
    for (std::size_t i = 0; i < room.size(); ++i) {
        const int node = static_cast<int>(i);
        if (!is_candidate(rigid, node, 1)) continue;
        nodes.push_back(node);
        const std::vector<double> ends = ends_on(node);
        times.insert(times.end(), ends.begin(), ends.end());
    }
    std::ranges::sort(times);
    const auto found = std::ranges::partition_point(
        times, [&](double time_s) { return shares_at(rigid, nodes, room, time_s).empty(); });
    if (found == times.end()) return std::nullopt;
    return RigidPlan{
        .ready_s = *found, .shares = shares_at(rigid, nodes, room, *found), .moves = {}};
}

// A place for the job's MIN on nodes that it may use.
bool RigidPlanner::place(const MalleableJob &job, const std::vector<int> &room, Packing &packing,
                         std::vector<NodeShare> &where) const {
    std::vector<NodeShare> off;
    if (is_choosy(*job.record, pool_))
        for (std::size_t i = 0; i < room.size(); ++i)
            if (room[i] > 0 && !may_use(*job.record, observation_.nodes[i], static_cast<int>(i)))
                off.emplace_back(static_cast<int>(i), room[i]);
    return place_min(packing, job, off, where);
}

// Finds another place for the MIN of each job that has to leave, and one for that of each
// restarting job; false: not every job has one, or too few GPUs stay free for those that were
// promised some.
bool RigidPlanner::place_others(RigidPlan &plan, std::vector<int> room,
                                const std::vector<Movable> &movable,
                                const std::vector<const MalleableJob *> &restarting,
                                int promised) const {
    if (plan.moves.empty() && restarting.empty()) return true;
    std::ranges::sort(plan.moves, std::greater<>(), [&](const RigidPlan::Move &move) {
        return movable[move.movable].malleable->intent.gpus_min;
    });
    for (const RigidPlan::Move &move : plan.moves)
        for (const auto &[node, gpus] : movable[move.movable].min)
            if (node >= 0 && at(node) < room.size()) room[at(node)] += gpus;
    for (const RigidPlan::Share &share : plan.shares) room[at(share.node)] -= share.gpus;
    for (const auto &[node, gpus] : lent_min_)
        if (node >= 0 && at(node) < room.size()) room[at(node)] -= gpus;
    for (std::size_t i = 0; i < room.size(); ++i)
        room[i] = observation_.nodes[i].usable
                      ? std::clamp(room[i], 0, node_room_.gpus_for_malleable(static_cast<int>(i)))
                      : -1;
    Packing packing({.node_gpus = room, .gpus_per_node = pool_.capacity.gpus_per_node});
    for (const MalleableJob *job : restarting) {
        std::vector<NodeShare> where;
        if (!place(*job, room, packing, where)) return false;
        promised -= job->intent.gpus_min;
    }
    for (RigidPlan::Move &move : plan.moves)
        if (!place(*movable[move.movable].malleable, room, packing, move.to)) return false;
    return plan.moves.empty() || packing.free_gpus() >= promised;
}

// The jobs that leave the plan's nodes, on each the largest MIN first.
void RigidPlanner::choose_moves(RigidPlan &plan, const std::vector<int> &lacking,
                                const std::vector<Movable> &movable) {
    std::vector<bool> moves(movable.size());
    // Negative counts, so that the largest comes first.
    std::vector<std::vector<std::pair<int, std::size_t>>> there(lacking.size());
    for (std::size_t k = 0; k < movable.size(); ++k)
        for (const auto &[node, gpus] : movable[k].min)
            if (node >= 0 && at(node) < lacking.size()) there[at(node)].emplace_back(-gpus, k);
    for (const RigidPlan::Share &share : plan.shares) {
        auto &here = there[at(share.node)];
        int left = lacking[at(share.node)];
        for (const auto &[less, k] : here)
            if (moves[k]) left += less;
        std::ranges::sort(here);
        for (const auto &[less, k] : here) {
            if (left <= 0) break;
            if (moves[k]) continue;
            moves[k] = true;
            plan.moves.push_back({.movable = k, .to = {}});
            left += less;
        }
    }
}

// The same number of GPUs on each of `count` nodes; a job without GPUs takes those that hold the
// CPUs and the memory that it lacks.
std::optional<RigidPlan> RigidPlanner::equal_shares(const JobRecord &rigid, int count,
                                                    const std::vector<int> &room,
                                                    const std::vector<Movable> &movable) const {
    const int most = (rigid.gpus_requested + count - 1) / count;
    const std::vector<Candidate> nodes = soonest(rigid, most, at(count), room, movable);
    if (nodes.empty()) return std::nullopt;
    RigidPlan out{.ready_s = nodes[0].ready_s, .shares = {}, .moves = {}};
    std::vector<int> lacking(room.size());  // GPUs of MIN that leave each node
    for (const Candidate &one : nodes) {
        const int freed = freed_by(one.node, one.ready_s).gpus;
        out.shares.push_back({.node = one.node, .gpus = one.kept, .freed = freed});
        lacking[at(one.node)] = one.to_move;
    }
    choose_moves(out, lacking, movable);
    return out;
}

std::optional<RigidPlan> RigidPlanner::plan(const JobRecord &rigid, const std::vector<int> &room,
                                            const std::vector<Movable> &movable,
                                            const std::vector<const MalleableJob *> &restarting,
                                            int promised) const {
    const auto checked = [&](std::optional<RigidPlan> plan) {
        if (plan && !place_others(*plan, room, movable, restarting, promised)) plan.reset();
        return plan;
    };
    const int gpus = rigid.gpus_requested;
    const bool is_for_one_node = rigid.nodes_requested <= 1 && rigid.nodes_most == 1;
    const bool any_nodes = rigid.any_shares && !is_for_one_node && gpus > 0;
    std::optional<RigidPlan> any;
    if (any_nodes) any = checked(any_shares(rigid, room));
    // MINs are in the way if few nodes are allowed, or if they hold its CPUs: equal shares of all
    // allowed nodes, or of as few as have its GPUs and CPUs.
    int nodes = any_nodes ? rigid.nodes_most : rigid.nodes_requested;
    const int per_node = std::max(1, pool_.capacity.gpus_per_node);
    if (gpus == 0 || nodes <= 0)
        nodes = std::max(node_room_.nodes_for(rigid), (gpus + per_node - 1) / per_node);
    const int count = gpus == 0 ? nodes : std::clamp(nodes, 1, gpus);
    std::optional<RigidPlan> equal = checked(equal_shares(rigid, count, room, movable));
    return any && (!equal || any->ready_s <= equal->ready_s) ? any : equal;
}

}  // namespace ringrt::controller
