// SPDX-License-Identifier: BSD-3-Clause
// A cluster whose single state the test sets and which accepts every request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::test {

class Agreeing : public controller::Cluster, public controller::EventSink {
  public:
    using RpcStatus = controller::RpcStatus;

    RpcStatus observe(controller::Observation &out) override { return out = seen, RpcStatus::ok; }
    RpcStatus write_intent(uint32_t, const std::string &, const controller::Settings &) override {
        return RpcStatus::ok;
    }
    RpcStatus update_pending(uint32_t, const controller::PendingUpdate &) override {
        return RpcStatus::ok;
    }
    RpcStatus signal_steps(uint32_t, int) override { return RpcStatus::ok; }
    RpcStatus confirm_run(uint32_t) override { return RpcStatus::ok; }
    controller::Liveness probe_run(uint32_t) override {
        ++probed;
        return liveness;
    }
    RpcStatus requeue_running(uint32_t) override { return ++requeued, RpcStatus::ok; }
    RpcStatus requeue_ended(uint32_t) override { return ++requeued_ended, RpcStatus::ok; }
    RpcStatus complete(uint32_t) override { return ++completed, RpcStatus::ok; }
    RpcStatus cancel(uint32_t) override { return ++cancelled, RpcStatus::ok; }
    RpcStatus bill_anew(uint32_t) override { return RpcStatus::ok; }
    void write(const controller::Event &event) override { said.push_back(event); }

    controller::Observation seen;
    controller::Liveness liveness = controller::Liveness::alive;
    int probed = 0, requeued = 0, requeued_ended = 0, completed = 0, cancelled = 0;
    std::vector<controller::Event> said;
};

inline void set_intent(controller::JobRecord &job, const records::Intent &intent) {
    job.intent = intent;
    job.admin_comment = records::format_into("", intent);
}

}  // namespace ringrt::test
