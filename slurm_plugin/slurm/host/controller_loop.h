// SPDX-License-Identifier: GPL-2.0-or-later
// The controller's main loop, on any host: read malleable.yaml, then repeat passes that observe,
// decide, act and write the report for `ringstat diag`.
#pragma once

#include <optional>

#include "slurm_plugin/slurm/host/accepted_options.h"
#include "slurm_plugin/slurm/host/host.h"

namespace ringrt::slurm {

class ControllerLoop {
  public:
    explicit ControllerLoop(Host &host) : host_(host) {}

    // Runs until the host stops it. Catches every exception of a pass: Slurm runs without the
    // controller, which restarts later from the jobs' records and the journal.
    void run();

  private:
    struct Life;
    void serve();  // one life of the controller; ends at stop or by an exception
    void begin(Life &life);
    void read_options(Life &life);
    [[nodiscard]] double pass(Life &life);
    [[nodiscard]] double stand_by(Life &life);
    void publish(const Life &life);
    [[nodiscard]] bool is_clock_set_back(const Life &life);
    [[nodiscard]] bool rest(const Life &life, Duty duty, double pause_s);

    void write_metrics(const Diag &diag);
    void write_explanations(Life &life, double now_s);

    Host &host_;
    AcceptedOptions accepted_;
    bool is_over_ = false;  // the host returned Duty::end
    // When a controller first acted here since slurmctld started. An exception does not reset it.
    std::optional<double> acts_since_s_;
    PluginOptions options_;
    bool metrics_failed_ = false;  // already logged
};

}  // namespace ringrt::slurm
