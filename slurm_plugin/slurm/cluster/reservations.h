// SPDX-License-Identifier: GPL-2.0-or-later
// Future reservations: on their nodes, Slurm starts no job whose time limit ends after they begin.
// (An active reservation shows in the state of its nodes.)
#pragma once

#include <slurm/slurm.h>

#include <memory>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/slurm/cluster/api_times.h"

namespace ringrt::slurm {

class Reservations {
  public:
    // Queries slurmctld. Returns whether the answer changed. If slurmctld does not answer, its last
    // answer stays valid.
    bool ask(ApiTimes &api);
    // Sets reserved_from_s. `nodes` is in Slurm's order.
    void note_in(std::vector<controller::NodeRecord> &nodes) const;

  private:
    struct Free {
        void operator()(reserve_info_msg_t *message) const {
            slurm_free_reservation_info_msg(message);
        }
    };
    std::unique_ptr<reserve_info_msg_t, Free> answer_;
};

// The same for one answer.
void note_reservations(const reserve_info_msg_t &answer, time_t now,
                       std::vector<controller::NodeRecord> &nodes);

}  // namespace ringrt::slurm
