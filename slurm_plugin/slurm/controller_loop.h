// SPDX-License-Identifier: GPL-2.0-or-later
// The controller's life, whatever its host: read malleable.yaml, then observe, decide, act and
// write the account for `ringstat diag`, pass after pass.
#pragma once

#include "slurm_plugin/slurm/accepted_options.h"
#include "slurm_plugin/slurm/host.h"

namespace ringrt::slurm {

class ControllerLoop {
  public:
    explicit ControllerLoop(Host &host) : host_(host) {}

    // Until the host says stop. Never throws what a pass throws: Slurm goes on as without us, and
    // the controller is started afresh later, for all it needs to know stands in the job records.
    void run();

  private:
    void serve();  // one life of the controller; ends at stop or by an exception

    void write_metrics(const Diag &diag);

    Host &host_;
    AcceptedOptions accepted_;
    PluginOptions options_;
    bool metrics_failed_ = false;  // said already
};

}  // namespace ringrt::slurm
