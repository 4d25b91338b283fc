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

RigidPlanner::RigidPlanner(const Observation &observation, const Pool &pool)
    : observation_(observation),
      pool_(pool),
      ends_(observation.nodes.size()),
      lent_(observation.nodes.size()) {
    for (const JobRecord &job : observation.jobs)
        for (const auto &[node, gpus] : job.gpus_on_node) {
            if (node < 0 || at(node) >= ends_.size()) continue;
            if (job.intent)
                lent_[at(node)] += gpus;
            else
                ends_[at(node)].emplace_back(end_of(job), gpus);
        }
    for (auto &ends : ends_) std::ranges::sort(ends);
}

// When this many more GPUs than now are free on the node.
double RigidPlanner::ready_s(int node, int lacking) const {
    if (lacking <= 0) return observation_.now_s;
    for (const auto &[end_s, gpus] : ends_[at(node)])
        if ((lacking -= gpus) <= 0) return std::max(end_s, observation_.now_s);
    return kNever;
}

int RigidPlanner::freed_by(int node, double time_s) const {
    int gpus = 0;
    for (const auto &[end_s, here] : ends_[at(node)])
        if (end_s <= time_s) gpus += here;
    return gpus;
}

bool RigidPlanner::is_candidate(const JobRecord &rigid, int node, int gpus,
                                const NodeRoom &node_room) const {
    const NodeRecord &record = observation_.nodes[at(node)];
    const NodeDemand demand = node_room.demand(rigid, node, gpus);
    return pool_.has_node[at(node)] && record.usable && may_use(rigid, record, node) &&
           demand.gpus <= std::max(gpus, record.gpus) &&
           node_room.fits_without_gpu_jobs(node, demand);
}

// The `count` nodes on which such a share is ready first; empty if there are fewer. Among nodes
// that are ready no later than the last one, nodes that no job has to leave come first.
std::vector<RigidPlanner::Candidate> RigidPlanner::soonest(
    const JobRecord &rigid, int share, std::size_t count, const std::vector<int> &room,
    const NodeRoom &node_room, const std::vector<Movable> &movable) const {
    const std::vector<int> min = min_on_nodes(movable, room.size());
    std::vector<Candidate> out;
    for (std::size_t i = 0; i < room.size(); ++i) {
        const int node = static_cast<int>(i), lacking = share - room[i];
        if (!is_candidate(rigid, node, share, node_room)) continue;
        const double as_it_is = ready_s(node, lacking);
        const double moved = min[i] > 0 ? ready_s(node, lacking - min[i]) + kMove_s : kNever;
        const double ready = std::min(as_it_is, moved);
        if (ready <= observation_.now_s + kAhead_s)
            out.push_back({ready, as_it_is <= moved ? 0 : min[i], lent_[i], node});
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
        if (ready_s(one.node, share - room[at(one.node)]) <= last_s) one.to_move = 0;
    // On ties the last node: Slurm fills nodes from the first.
    std::ranges::sort(
        out, {}, [](const Candidate &one) { return std::tuple(one.to_move, one.lent, -one.node); });
    out.resize(count);
    for (Candidate &one : out) one.ready_s = last_s;
    return out;
}

// Takes all GPUs that each node has, the largest share first. No MIN is in the way of that.
std::optional<RigidPlan> RigidPlanner::any_shares(const JobRecord &rigid,
                                                  const std::vector<int> &room,
                                                  const NodeRoom &node_room) const {
    std::vector<int> nodes;
    std::vector<double> times{observation_.now_s};
    for (std::size_t i = 0; i < room.size(); ++i) {
        const int node = static_cast<int>(i);
        if (!is_candidate(rigid, node, 1, node_room)) continue;
        nodes.push_back(node);
        for (const auto &[end_s, gpus] : ends_[i])
            if (end_s > observation_.now_s && end_s <= observation_.now_s + kAhead_s)
                times.push_back(end_s);
    }
    const std::size_t most = rigid.nodes_most > 0 ? at(rigid.nodes_most) : nodes.size();
    const auto shares_at = [&](double time_s) {
        std::vector<RigidPlan::Share> shares;
        for (const int node : nodes) {
            const int freed = freed_by(node, time_s);
            if (room[at(node)] + freed > 0)
                shares.push_back({.node = node, .gpus = room[at(node)] + freed, .freed = freed});
        }
        std::ranges::stable_sort(shares, std::greater<>(), &RigidPlan::Share::gpus);
        if (shares.size() > most) shares.resize(most);
        int left = rigid.gpus_requested;
        for (RigidPlan::Share &share : shares) left -= share.gpus = std::min(share.gpus, left);
        std::erase_if(shares, [](const RigidPlan::Share &share) { return share.gpus == 0; });
        return left > 0 ? std::vector<RigidPlan::Share>{} : shares;
    };
    std::ranges::sort(times);
    const auto found = std::ranges::partition_point(
        times, [&](double time_s) { return shares_at(time_s).empty(); });
    if (found == times.end()) return std::nullopt;
    return RigidPlan{.ready_s = *found, .shares = shares_at(*found), .moves = {}};
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
bool RigidPlanner::place_others(RigidPlan &plan, std::vector<int> room, const NodeRoom &node_room,
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
    for (std::size_t i = 0; i < room.size(); ++i)
        room[i] = observation_.nodes[i].usable
                      ? std::clamp(room[i], 0, node_room.gpus_for_malleable(static_cast<int>(i)))
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

// The same number of GPUs on each of `count` nodes.
std::optional<RigidPlan> RigidPlanner::equal_shares(const JobRecord &rigid, int count,
                                                    const std::vector<int> &room,
                                                    const NodeRoom &node_room,
                                                    const std::vector<Movable> &movable) const {
    const int most = (rigid.gpus_requested + count - 1) / count;
    const std::vector<Candidate> nodes = soonest(rigid, most, at(count), room, node_room, movable);
    if (nodes.empty()) return std::nullopt;
    RigidPlan out{.ready_s = nodes[0].ready_s, .shares = {}, .moves = {}};
    std::vector<int> lacking(room.size());  // GPUs of MIN that leave each node
    int left = rigid.gpus_requested;
    for (const auto &[time_s, to_move, lent, node] : nodes) {
        const int freed = freed_by(node, time_s);
        out.shares.push_back({.node = node, .gpus = std::min(most, left), .freed = freed});
        left -= out.shares.back().gpus;
        lacking[at(node)] = to_move > 0 ? most - room[at(node)] - freed : 0;
    }
    choose_moves(out, lacking, movable);
    return out;
}

// A job without GPUs takes those with which malleable jobs hold the CPUs and the memory that it
// lacks, on the nodes where the fewest GPUs of MIN have to leave for that. What other jobs hold is
// not expected back, so it starts as soon as they have left.
std::optional<RigidPlan> RigidPlanner::without_gpus(const JobRecord &rigid,
                                                    const std::vector<int> &room,
                                                    const NodeRoom &node_room,
                                                    const std::vector<Movable> &movable) const {
    const std::vector<int> min = min_on_nodes(movable, room.size());
    std::vector<std::tuple<int, int, int, int>> places;  // lacking, lent, -node, GPUs
    for (std::size_t i = 0; i < room.size(); ++i) {
        const int node = static_cast<int>(i), idle = std::max(0, pool_.free.node_gpus[i]);
        if (!has_one_type(observation_.nodes[i]) || !is_candidate(rigid, node, 0, node_room))
            continue;
        const int now = std::max(0, room[i]);
        const std::optional<int> kept =
            node_room.kept_gpus(node, node_room.demand(rigid, node, 0), idle, now + min[i]);
        if (kept) places.emplace_back(std::max(0, *kept - now), lent_[i], -node, *kept);
    }
    const std::size_t count = at(node_room.nodes_for(rigid));
    if (places.size() < count) return std::nullopt;
    std::ranges::sort(places);
    places.resize(count);
    RigidPlan out{.ready_s = observation_.now_s, .shares = {}, .moves = {}};
    std::vector<int> lacking(room.size());
    for (const auto &[lacks, lent, minus_node, gpus] : places) {
        out.shares.push_back({.node = -minus_node, .gpus = gpus, .freed = 0});
        lacking[at(-minus_node)] = lacks;
    }
    choose_moves(out, lacking, movable);
    return out;
}

std::optional<RigidPlan> RigidPlanner::plan(const JobRecord &rigid, const std::vector<int> &room,
                                            const NodeRoom &node_room,
                                            const std::vector<Movable> &movable,
                                            const std::vector<const MalleableJob *> &restarting,
                                            int promised) const {
    const auto checked = [&](std::optional<RigidPlan> plan) {
        if (plan && !place_others(*plan, room, node_room, movable, restarting, promised))
            plan.reset();
        return plan;
    };
    if (rigid.gpus_requested == 0) return checked(without_gpus(rigid, room, node_room, movable));
    const bool is_for_one_node = rigid.nodes_requested <= 1 && rigid.nodes_most == 1;
    const bool any_nodes = rigid.any_shares && !is_for_one_node;
    std::optional<RigidPlan> any;
    if (any_nodes) any = checked(any_shares(rigid, room, node_room));
    if (any_nodes && rigid.nodes_most <= 0) return any;
    // If so few nodes are allowed that MINs are in the way: all allowed nodes, in equal shares.
    const int nodes = any_nodes ? rigid.nodes_most : rigid.nodes_requested;
    const int count = std::clamp(nodes, 1, std::max(1, rigid.gpus_requested));
    std::optional<RigidPlan> equal = checked(equal_shares(rigid, count, room, node_room, movable));
    return any && (!equal || any->ready_s <= equal->ready_s) ? any : equal;
}

}  // namespace ringrt::controller
