// SPDX-License-Identifier: GPL-2.0-or-later
// The free CPUs and memory of the nodes when all jobs were last listed. With a full queue, nodes
// are listed more often than jobs. A pending job of the listing may have started since, and its
// CPUs then count twice: as in use, and as wanted. So the larger of the amounts then and now counts
// as free.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

class ListedAmounts {
  public:
    void forget() {
        free_.clear();
        has_raised_ = false;
    }
    void note(const std::vector<controller::NodeRecord> &nodes) {
        free_.clear();
        for (const controller::NodeRecord &node : nodes)
            free_.emplace_back(node.cpus_free, node.mb_free);
    }
    void apply_to(std::vector<controller::NodeRecord> &nodes) {
        has_raised_ = false;
        if (free_.size() != nodes.size()) return;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            controller::NodeRecord &node = nodes[i];
            const int cpus = std::min(node.cpus, free_[i].first);
            const int64_t mb = std::min(node.mb, free_[i].second);
            has_raised_ |= cpus > node.cpus_free || mb > node.mb_free;
            node.cpus_free = std::max(node.cpus_free, cpus);
            node.mb_free = std::max(node.mb_free, mb);
        }
    }
    // Whether the last apply_to() changed anything.
    [[nodiscard]] bool has_raised() const { return has_raised_; }

  private:
    std::vector<std::pair<int, int64_t>> free_;  // CPUs, MB
    bool has_raised_ = false;
};

}  // namespace ringrt::slurm
