// SPDX-License-Identifier: GPL-2.0-or-later
// A cluster that is changed only while its host may act. Every call checks this, because a pass can
// outlast a lease.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/slurm/host/host.h"

namespace ringrt::slurm {

class FencedCluster final : public controller::Cluster {
  public:
    FencedCluster(controller::Cluster &cluster, const Host &host)
        : cluster_(cluster), host_(host) {}

    controller::RpcStatus observe(controller::Observation &out) override {
        return fenced([&] { return cluster_.observe(out); });
    }
    controller::RpcStatus write_intent(uint32_t job_id, const std::string &text,
                                       const controller::Settings &settings) override {
        return fenced([&] { return cluster_.write_intent(job_id, text, settings); });
    }
    controller::RpcStatus update_pending(uint32_t job_id,
                                         const controller::PendingUpdate &update) override {
        return fenced([&] { return cluster_.update_pending(job_id, update); });
    }
    controller::RpcStatus signal_steps(uint32_t job_id, int signal) override {
        return fenced([&] { return cluster_.signal_steps(job_id, signal); });
    }
    controller::RpcStatus confirm_run(uint32_t job_id) override {
        return fenced([&] { return cluster_.confirm_run(job_id); });
    }
    controller::Liveness probe_run(uint32_t job_id) override {
        return host_.may_act() ? cluster_.probe_run(job_id) : controller::Liveness::unknown;
    }
    controller::RpcStatus requeue_running(uint32_t job_id) override {
        return fenced([&] { return cluster_.requeue_running(job_id); });
    }
    controller::RpcStatus requeue_ended(uint32_t job_id) override {
        return fenced([&] { return cluster_.requeue_ended(job_id); });
    }
    controller::RpcStatus complete(uint32_t job_id) override {
        return fenced([&] { return cluster_.complete(job_id); });
    }
    controller::RpcStatus cancel(uint32_t job_id) override {
        return fenced([&] { return cluster_.cancel(job_id); });
    }
    controller::RpcStatus bill_anew(uint32_t job_id) override {
        return fenced([&] { return cluster_.bill_anew(job_id); });
    }
    [[nodiscard]] bool can_keep_nodes() override {
        return host_.may_act() && cluster_.can_keep_nodes();
    }
    controller::RpcStatus keep_nodes(uint32_t job_id, const std::vector<int> &nodes) override {
        return fenced([&] { return cluster_.keep_nodes(job_id, nodes); });
    }
    controller::RpcStatus extend(uint32_t base_id, const controller::PendingUpdate::Size &size,
                                 const records::Extension &extension,
                                 const controller::ExtensionPlace &place) override {
        return fenced([&] { return cluster_.extend(base_id, size, extension, place); });
    }

  private:
    template <typename Call>
    controller::RpcStatus fenced(Call call) {
        return host_.may_act() ? call() : controller::RpcStatus::unreachable;
    }

    controller::Cluster &cluster_;
    const Host &host_;
};

}  // namespace ringrt::slurm
