// SPDX-License-Identifier: GPL-2.0-or-later
// The controller's life, whatever its host: read malleable.yaml, then observe, decide, act and
// write the account for `ringstat diag`, pass after pass.
#pragma once

#include <optional>

#include "slurm_plugin/slurm/host/accepted_options.h"
#include "slurm_plugin/slurm/host/host.h"

namespace ringrt::slurm {

class ControllerLoop {
  public:
    explicit ControllerLoop(Host &host) : host_(host) {}

    // Until the host says stop. Never throws what a pass throws: Slurm goes on as without us, and
    // the controller is started afresh later: it goes on from the jobs' records and the journal.
    void run();

  private:
    struct Life;
    void serve();  // one life of the controller; ends at stop or by an exception
    void begin(Life &life);
    void read_options(Life &life);
    [[nodiscard]] double pass(Life &life);
    [[nodiscard]] double stand_by(Life &life);
    void publish(const Life &life);
    [[nodiscard]] bool rest(const Life &life, Duty duty, double next_s);

    void write_metrics(const Diag &diag);
    void write_explanations(Life &life, double now_s);

    Host &host_;
    AcceptedOptions accepted_;
    bool is_over_ = false;  // the host said Duty::end
    // When a controller first acted here since slurmctld was started: not anew after an exception.
    std::optional<double> acts_since_s_;
    PluginOptions options_;
    bool metrics_failed_ = false;  // said already
};

}  // namespace ringrt::slurm
