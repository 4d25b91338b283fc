// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/reservations.h"

#include <ctime>
#include <span>

#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"

namespace ringrt::slurm {

bool Reservations::ask(ApiTimes &api) {
    reserve_info_msg_t *fresh = nullptr;
    const time_t since = answer_ ? answer_->last_update : 0;
    const int rc =
        api.time(Call::load_reservations, [&] { return slurm_load_reservations(since, &fresh); });
    if (rc != SLURM_SUCCESS || fresh == nullptr) return false;
    answer_.reset(fresh);
    return true;
}

void Reservations::note_in(std::vector<controller::NodeRecord> &nodes) const {
    if (answer_) note_reservations(*answer_, std::time(nullptr), nodes);
}

void note_reservations(const reserve_info_msg_t &answer, time_t now,
                       std::vector<controller::NodeRecord> &nodes) {
    if (answer.reservation_array == nullptr) return;
    for (const reserve_info_t &one : std::span(answer.reservation_array, answer.record_count)) {
        if (one.start_time <= now) continue;
        const auto from_s = static_cast<double>(one.start_time);
        for_each_node(one.node_inx, nodes.size(), [&](std::size_t node) {
            for (const int part : controller::all_parts(nodes, static_cast<int>(node))) {
                double &first = nodes[static_cast<std::size_t>(part)].reserved_from_s;
                if (first <= 0 || from_s < first) first = from_s;
            }
        });
    }
}

}  // namespace ringrt::slurm
