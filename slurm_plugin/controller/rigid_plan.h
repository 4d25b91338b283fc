// SPDX-License-Identifier: BSD-3-Clause
// Plans where a rigid job will start if returning all borrowed GPUs does not make room for it now.
// The plan takes the nodes that become free first: rigid jobs end at their time limits, and
// malleable jobs run at MIN on other nodes. Resizing spreads the MIN GPUs over many nodes, where
// stock Slurm packs them on few. Backfill expects malleable jobs to run to their time limits and
// starts smaller jobs ahead of the rigid one. So the controller reserves the planned nodes: no
// malleable job grows onto them, and those that run there move. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/node_room.h"
#include "slurm_plugin/policy/engine/packing.h"

namespace ringrt::controller {

// A running malleable job that could run on other nodes.
struct Movable {
    std::size_t job = 0;  // index into the views
    const MalleableJob *malleable = nullptr;
    std::vector<policy::NodeShare> min;  // where its MIN GPUs are
};

struct RigidPlan {
    struct Share {
        int node = 0;
        int gpus = 0;   // that malleable jobs must not hold there
        int freed = 0;  // returned by rigid jobs on the node by then
    };
    struct Move {
        std::size_t movable = 0;
        std::vector<policy::NodeShare> to;  // a place for its MIN
    };
    double ready_s = 0;  // earliest start; Unix time
    std::vector<Share> shares;
    std::vector<Move> moves;
};

class RigidPlanner {
  public:
    // lent_min: MINs that the rigid job may have, and no other job: those of jobs that may be
    // paused.
    RigidPlanner(const Observation &observation, const Pool &pool, const NodeRoom &node_room,
                 const std::vector<policy::NodeShare> &lent_min);

    // room: for each node, the GPUs that rigid jobs could have now if all borrowed GPUs were
    // returned; restarting: the jobs that hold no GPUs because they restart at another size. Each
    // keeps a place for its MIN outside the plan, as it had before it was signalled; otherwise it
    // would restart at MIN, grow, and lose its place again. promised: how many GPUs pending
    // malleable jobs get first, the restarting ones included. Returns nothing if there is no such
    // place within a day. CPUs and memory that jobs without GPUs hold are not expected back.
    [[nodiscard]] std::optional<RigidPlan> plan(const JobRecord &rigid,
                                                const std::vector<int> &room,
                                                const std::vector<Movable> &movable,
                                                const std::vector<const MalleableJob *> &restarting,
                                                int promised) const;

  private:
    struct Candidate {
        double ready_s = 0;
        int to_move = 0;  // GPUs of MIN that must leave it; 0: none
        int lent = 0;     // GPUs that malleable jobs hold there
        int node = 0;
        int kept = 0;  // GPUs that malleable jobs must not hold there
    };
    [[nodiscard]] NodeDemand freed_by(int node, double time_s) const;
    [[nodiscard]] std::vector<double> ends_on(int node) const;
    [[nodiscard]] bool is_candidate(const JobRecord &rigid, int node, int gpus) const;
    [[nodiscard]] std::optional<int> kept_at(const JobRecord &rigid, int node, int gpus, int room,
                                             double time_s) const;
    [[nodiscard]] double ready_s(const JobRecord &rigid, int node, int gpus, int room) const;
    void settle(Candidate &one, const JobRecord &rigid, int share, int room, int min,
                double time_s) const;
    [[nodiscard]] std::vector<Candidate> soonest(const JobRecord &rigid, int share,
                                                 std::size_t count, const std::vector<int> &room,
                                                 const std::vector<Movable> &movable) const;
    [[nodiscard]] std::vector<RigidPlan::Share> shares_at(const JobRecord &rigid,
                                                          const std::vector<int> &nodes,
                                                          const std::vector<int> &room,
                                                          double time_s) const;
    [[nodiscard]] std::optional<RigidPlan> any_shares(const JobRecord &rigid,
                                                      const std::vector<int> &room) const;
    [[nodiscard]] std::optional<RigidPlan> equal_shares(const JobRecord &rigid, int count,
                                                        const std::vector<int> &room,
                                                        const std::vector<Movable> &movable) const;
    static void choose_moves(RigidPlan &plan, const std::vector<int> &lacking,
                             const std::vector<Movable> &movable);
    [[nodiscard]] bool place_others(RigidPlan &plan, std::vector<int> room,
                                    const std::vector<Movable> &movable,
                                    const std::vector<const MalleableJob *> &restarting,
                                    int promised) const;
    [[nodiscard]] bool place(const MalleableJob &job, const std::vector<int> &room,
                             policy::Packing &packing, std::vector<policy::NodeShare> &where) const;

    const Observation &observation_;
    const Pool &pool_;
    const NodeRoom &node_room_;
    // For each node: when rigid jobs end there by their time limits, and what they free.
    std::vector<std::vector<std::pair<double, NodeDemand>>> ends_;
    std::vector<int> lent_;
    std::vector<policy::NodeShare> lent_min_;
};

}  // namespace ringrt::controller
