// SPDX-License-Identifier: GPL-2.0-or-later
// Which configuration is in force. One that is right is accepted, and a copy of it is kept: where
// the file is broken later, what was accepted before goes on, also after a restart of slurmctld.
#pragma once

#include <string>

#include "slurm_plugin/slurm/host/host.h"
#include "slurm_plugin/slurm/host/yaml_options.h"

namespace ringrt::slurm {

class AcceptedOptions {
  public:
    // The file; else what was accepted before, in this process or by an earlier one; else the
    // defaults, which touch nothing. What is wrong is said in one line.
    [[nodiscard]] PluginOptions read(const std::string &yaml, const std::string &last_good,
                                     Host &host);

    // Why the newest file was refused; empty: it was not. And the first refusal in a row (Unix
    // time).
    [[nodiscard]] const std::string &refusal() const { return refusal_; }
    [[nodiscard]] double refused_since_s() const { return refusal_.empty() ? 0 : refused_since_s_; }

  private:
    PluginOptions options_;
    std::string refusal_;
    double refused_since_s_ = 0;
    bool have_options_ = false;  // options_ came from a file that was accepted
};

}  // namespace ringrt::slurm
