// SPDX-License-Identifier: BSD-3-Clause
// Where a waiting rigid job would start in a cluster without borrowed GPUs, if it cannot start now
// even with all of them back: on the nodes that are ready for it the soonest, as rigid jobs there
// end by their time limits and malleable jobs run with their MIN on other nodes. Stock Slurm packs
// the jobs' MIN on few nodes; jobs that have grown and shrunk have it one here and one there, and
// Slurm's backfill, which believes that they stay until their time limits, lets smaller jobs pass.
// So the place is kept clear: no malleable job grows into it, and those there move. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "slurm_plugin/controller/capacity.h"

namespace ringrt::controller {

// A running malleable job that could run on other nodes.
struct Movable {
    std::size_t job = 0;  // index into the views
    const MalleableJob *malleable = nullptr;
    std::vector<policy::NodeShare> min;  // where its MIN is
};

struct RigidPlan {
    struct Share {
        int node = 0;
        int gpus = 0;
        int freed = 0;  // that rigid jobs on the node have given back by then
    };
    struct Move {
        std::size_t movable = 0;
        std::vector<policy::NodeShare> to;  // a place for its MIN
    };
    double ready_s = 0;  // when it could start; Unix time
    std::vector<Share> shares;
    std::vector<Move> moves;
};

class RigidPlanner {
  public:
    RigidPlanner(const Observation &observation, const Pool &pool);

    // room: GPUs of each node that rigid jobs could have now, if all that is borrowed were given
    // back; promised: those of them that malleable jobs without a place get first. None: there is
    // no such place within a day.
    [[nodiscard]] std::optional<RigidPlan> plan(const JobRecord &rigid,
                                                const std::vector<int> &room,
                                                const std::vector<Movable> &movable,
                                                int promised) const;

  private:
    struct Candidate {
        double ready_s = 0;
        int to_move = 0;  // GPUs of MIN that have to leave it; 0: none
        int lent = 0;     // GPUs that malleable jobs hold there
        int node = 0;
    };
    [[nodiscard]] double ready_s(int node, int lacking) const;
    [[nodiscard]] int freed_by(int node, double time_s) const;
    [[nodiscard]] std::vector<Candidate> soonest(const JobRecord &rigid, int share,
                                                 std::size_t count, const std::vector<int> &room,
                                                 const std::vector<Movable> &movable) const;
    [[nodiscard]] std::optional<RigidPlan> any_shares(const JobRecord &rigid,
                                                      const std::vector<int> &room) const;
    [[nodiscard]] std::optional<RigidPlan> equal_shares(const JobRecord &rigid, int count,
                                                        const std::vector<int> &room,
                                                        const std::vector<Movable> &movable,
                                                        int promised) const;
    [[nodiscard]] bool move(RigidPlan &plan, std::vector<int> room,
                            const std::vector<Movable> &movable, int promised) const;

    const Observation &observation_;
    const Pool &pool_;
    // Of each node, when rigid jobs end there by their time limits, and how many GPUs they have.
    std::vector<std::vector<std::pair<double, int>>> ends_;
    std::vector<int> lent_;
};

}  // namespace ringrt::controller
