// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/free_places.h"

#include <algorithm>

#include "slurm_plugin/controller/lent_exclusions.h"
#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/controller/reach.h"
#include "slurm_plugin/policy/engine/packing.h"

namespace ringrt::controller {

using policy::Packing;

namespace {

// GPUs that the job may not use, and whether it gets GPUs of all types of a node (node_parts.h).
struct OutOfReach {
    std::vector<policy::NodeShare> gpus;
    const std::vector<NodeRecord> *joined = nullptr;
};

OutOfReach out_of_reach(const Observation &observation, const Pool &pool, const JobRecord &job) {
    OutOfReach out;
    if (!is_choosy(job, pool)) return out;
    for (std::size_t i = 0; i < observation.nodes.size(); ++i) {
        const NodeRecord &node = observation.nodes[i];
        if (pool.has_node[i] && !node.parts.empty() && takes_all_types(job))
            out.joined = &observation.nodes;
        const bool is_usable = may_use(job, node, static_cast<int>(i)) && !is_of_another(job, node);
        if (pool.free.node_gpus[i] > 0 && !is_usable)
            out.gpus.emplace_back(static_cast<int>(i), node.gpus);
    }
    return out;
}

// The same free GPUs, with those of all parts of a node at its place.
Packing join_parts(const Packing &packing, const std::vector<NodeRecord> &nodes) {
    policy::Capacity whole{.node_gpus = {}, .gpus_per_node = 0};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const int free = packing.free_on(i);
        whole.node_gpus.push_back(nodes[i].part_of < 0 ? free : -1);
        if (nodes[i].part_of >= 0 && free > 0)
            whole.node_gpus[static_cast<std::size_t>(nodes[i].part_of)] += free;
    }
    for (const NodeRecord &node : nodes) {
        int gpus = node.gpus;
        for (const int part : node.parts) gpus += nodes[static_cast<std::size_t>(part)].gpus;
        whole.gpus_per_node = std::max(whole.gpus_per_node, gpus);
    }
    return Packing(whole);
}

// From nodes to the free GPUs of their parts.
void part_places(const Packing &packing, const std::vector<NodeRecord> &nodes,
                 std::vector<policy::NodeShare> &where) {
    std::vector<policy::NodeShare> out;
    for (const auto &[node, gpus] : where) {
        int left = gpus;
        for (const int part : all_parts(nodes, node)) {
            const int here = std::min(left, packing.free_on(static_cast<std::size_t>(part)));
            if (here > 0) out.emplace_back(part, here);
            left -= std::max(0, here);
        }
    }
    where = std::move(out);
}

void add_nodes(const Observation &observation, const std::vector<int> &nodes, OutOfReach &off) {
    for (const int node : nodes)
        off.gpus.emplace_back(node, observation.nodes[static_cast<std::size_t>(node)].gpus);
}

Packing rest_of(const Packing &packing, const OutOfReach &off) {
    Packing rest = packing;
    rest.occupy(off.gpus);
    return off.joined != nullptr ? join_parts(rest, *off.joined) : rest;
}

// Places the GPUs according to the job's layout.
bool place(Packing &packing, const records::Layout &layout, int gpus,
           std::vector<policy::NodeShare> &where) {
    const int most = layout.gpus_per_node;
    return most > 0 && gpus > most ? packing.place_apart(gpus, most, &where)
                                   : packing.place(gpus, &where);
}

// Finds the largest size with a place off these nodes, and occupies it; 0: no size has one.
int place_largest(Packing &packing, const OutOfReach &off, const records::Layout &layout,
                  const policy::Ladder &ladder,
                  std::vector<policy::NodeShare> *place_out = nullptr) {
    const bool is_plain = off.gpus.empty() && off.joined == nullptr;
    if (is_plain && layout.gpus_per_node == 0 && place_out == nullptr)
        return packing.place_largest(ladder);
    Packing rest = rest_of(packing, off);
    std::vector<policy::NodeShare> where;
    int gpus = ladder.floor(ladder.max);
    while (gpus >= ladder.min && gpus > 0 && !place(rest, layout, gpus, where)) gpus /= 2;
    if (gpus < ladder.min) return 0;
    if (off.joined != nullptr) part_places(packing, *off.joined, where);
    packing.occupy(where);
    if (place_out) *place_out = std::move(where);
    return gpus;
}

// A job that restarts after a resize is kept off the reserved nodes. If it finds no other place, it
// may use the GPUs there that no job has reserved.
void match_returning(const Observation &observation, const Pool &pool, const MalleableJob &job,
                     const policy::Ladder &ladder, Packing &packing, Target &target) {
    OutOfReach off = out_of_reach(observation, pool, *job.record);
    const OutOfReach reachable = off;
    std::vector<policy::NodeShare> where;
    add_nodes(observation, pool.reserved_nodes, off);
    const records::Layout &layout = job.intent.layout;
    target.placeable_gpus = place_largest(packing, off, layout, ladder, &where);
    if (target.placeable_gpus == 0)
        target.placeable_gpus = place_largest(packing, reachable, layout, ladder, &where);
    for (auto &[part, gpus] : where) part = node_of(observation.nodes, part);
    for (const int part : pool.reserved_nodes) {
        const int node = node_of(observation.nodes, part);
        std::vector<int> &excluded = target.excluded_nodes;
        if (std::ranges::find(where, node, &policy::NodeShare::first) == where.end() &&
            std::ranges::find(excluded, node) == excluded.end())
            excluded.push_back(node);
    }
    target.excluded_checksum = checksum_of(target.excluded_nodes, observation.nodes);
}

// Slurm starts no job on a node where one is completing.
OutOfReach not_startable(const Observation &observation, const Pool &pool, const MalleableJob &job,
                         const Packing &packing) {
    OutOfReach off = out_of_reach(observation, pool, *job.record);
    for (std::size_t i = 0; i < observation.nodes.size(); ++i)
        if (observation.nodes[i].completing && packing.free_on(i) > 0)
            off.gpus.emplace_back(static_cast<int>(i), observation.nodes[i].gpus);
    return off;
}

// What it could get on the nodes where Slurm starts jobs now.
int place_startable(const Observation &observation, const Pool &pool, const MalleableJob &job,
                    const policy::Ladder &ladder, Packing packing) {
    const OutOfReach off = not_startable(observation, pool, job, packing);
    return place_largest(packing, off, job.intent.layout, ladder);
}

// A job that must move is placed off the reserved nodes.
void match_moving(const Observation &observation, const Pool &pool, const MalleableJob &job,
                  Packing &packing, Target &target) {
    OutOfReach off = out_of_reach(observation, pool, *job.record);
    add_nodes(observation, pool.reserved_nodes, off);
    const int gpus = target.allotment.gpus;
    packing.release(target.job.held);
    target.placeable_gpus = place_largest(packing, off, job.intent.layout, {gpus, gpus});
    packing.occupy(target.job.held);  // not free until the job has left
}

// The job keeps its GPUs, and each doubling is placed separately on as few nodes as possible.
void match_parts(const Observation &observation, const Pool &pool, const MalleableJob &job,
                 Packing &packing, Target &target) {
    const records::Layout &layout = job.intent.layout;
    const Reach reach = reach_of(observation, pool, *job.record, layout);
    const OutOfReach off = not_startable(observation, pool, job, packing);
    int gpus = target.job.gpus_now;
    for (; 2 * gpus <= target.allotment.gpus; gpus *= 2) {
        Packing rest = rest_of(packing, off);
        std::vector<policy::NodeShare> where;
        const bool fits = layout.gpus_per_node > 0
                              ? place(rest, layout, gpus, where)
                              : rest.place_evenly(gpus, reach.gpus_per_node, &where) > 0;
        if (!fits) break;
        target.part_nodes.push_back(static_cast<int>(where.size()));
        if (off.joined != nullptr) part_places(packing, *off.joined, where);
        packing.occupy(where);
    }
    target.placeable_gpus = gpus;
}

}  // namespace

void match_free(const Observation &observation, const Pool &pool,
                const std::vector<MalleableJob> &jobs, std::vector<Target> &targets) {
    Packing packing(pool.free);
    std::vector<std::size_t> waiting, moving, growing;
    for (const std::size_t i : pool.jobs) {
        if (targets[i].job.id == 0) continue;
        if (is_waiting(jobs[i].stage)) {
            const bool stays_away = targets[i].job.paused && targets[i].allotment.gpus == 0;
            if (jobs[i].stage != Stage::held_back && !stays_away) waiting.push_back(i);
        } else if (targets[i].moves_for != 0) {
            moving.push_back(i);
        } else if (!targets[i].job.pinned && targets[i].allotment.gpus > targets[i].job.gpus_now) {
            growing.push_back(i);
        } else {
            targets[i].placeable_gpus = targets[i].allotment.gpus;
        }
    }
    std::stable_sort(waiting.begin(), waiting.end(), [&](std::size_t a, std::size_t b) {
        const bool resizing_a = jobs[a].is_resizing(), resizing_b = jobs[b].is_resizing();
        if (resizing_a != resizing_b) return resizing_a;
        const JobRecord &x = *jobs[a].record, &y = *jobs[b].record;
        return x.priority != y.priority ? x.priority > y.priority : x.submit_s < y.submit_s;
    });
    const bool some_completing = std::ranges::any_of(observation.nodes, &NodeRecord::completing);
    for (const std::size_t i : waiting) {
        const int most = std::max(targets[i].allotment.gpus, jobs[i].intent.gpus_min);
        const policy::Ladder ladder{jobs[i].intent.gpus_min, most};
        const bool waits_to_start = jobs[i].stage == Stage::eligible && some_completing;
        if (waits_to_start)
            targets[i].startable_gpus =
                place_startable(observation, pool, jobs[i], ladder, packing);
        if (jobs[i].is_resizing() && !pool.reserved_nodes.empty() && !names_nodes(*jobs[i].record))
            match_returning(observation, pool, jobs[i], ladder, packing, targets[i]);
        else
            targets[i].placeable_gpus =
                place_largest(packing, out_of_reach(observation, pool, *jobs[i].record),
                              jobs[i].intent.layout, ladder);
        if (!waits_to_start) targets[i].startable_gpus = targets[i].placeable_gpus;
    }
    for (const std::size_t i : moving)
        match_moving(observation, pool, jobs[i], packing, targets[i]);
    std::stable_sort(growing.begin(), growing.end(), [&](std::size_t a, std::size_t b) {
        return targets[a].allotment.gain_s_per_gpu > targets[b].allotment.gain_s_per_gpu;
    });
    for (const std::size_t i : growing) {
        if (jobs[i].is_live) {
            match_parts(observation, pool, jobs[i], packing, targets[i]);
            continue;
        }
        const auto &held = targets[i].job.held;
        packing.release(held);
        const int gpus = targets[i].allotment.gpus;
        const OutOfReach off = not_startable(observation, pool, jobs[i], packing);
        const bool fits = place_largest(packing, off, jobs[i].intent.layout, {gpus, gpus}) > 0;
        targets[i].placeable_gpus = fits ? gpus : targets[i].job.gpus_now;
        packing.occupy(held);  // not free until the job has left
    }
}

}  // namespace ringrt::controller
