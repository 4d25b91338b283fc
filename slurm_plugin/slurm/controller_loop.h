// SPDX-License-Identifier: GPL-2.0-or-later
// The controller's life, whatever its host: read malleable.yaml, then observe, decide, act and
// write the account for `ringstat diag`, pass after pass.
#pragma once

#include <string>

#include "slurm_plugin/slurm/host.h"
#include "slurm_plugin/slurm/yaml_options.h"

namespace ringrt::slurm {

class ControllerLoop {
  public:
    explicit ControllerLoop(Host &host) : host_(host) {}

    // Until the host says stop. Never throws what a pass throws: Slurm goes on as without us, and
    // the controller is started afresh later, for all it needs to know stands in the job records.
    void run();

  private:
    void serve();  // one life of the controller; ends at stop or by an exception
    [[nodiscard]] PluginOptions accepted_options(const std::string &yaml,
                                                 const std::string &last_good);

    void write_metrics(const Diag &diag);

    Host &host_;
    PluginOptions options_;
    bool have_options_ = false;    // options_ came from a file that was accepted
    std::string refusal_;          // why the newest file was refused; empty: it was not ...
    double refused_since_s_ = 0;   // ... and the first refusal in a row
    bool metrics_failed_ = false;  // said already
};

}  // namespace ringrt::slurm
