// SPDX-License-Identifier: GPL-2.0-or-later
// The configuration in force. A valid file is accepted and copied. If the file is broken later, the
// accepted options stay in force, even after a restart of slurmctld.
#pragma once

#include <string>

#include "slurm_plugin/slurm/host/host.h"
#include "slurm_plugin/slurm/host/yaml_options.h"

namespace ringrt::slurm {

class AcceptedOptions {
  public:
    // Returns the file's options; if it is invalid, those accepted before, by this process or an
    // earlier one; otherwise the defaults, which change nothing. Logs an error in one line.
    [[nodiscard]] PluginOptions read(const std::string &yaml, const std::string &last_good,
                                     Host &host);

    // Why the newest file was refused; empty: it was accepted. And the time of the first of
    // consecutive refusals (Unix time).
    [[nodiscard]] const std::string &refusal() const { return refusal_; }
    [[nodiscard]] double refused_since_s() const { return refusal_.empty() ? 0 : refused_since_s_; }

  private:
    PluginOptions options_;
    std::string refusal_;
    double refused_since_s_ = 0;
    bool have_options_ = false;  // options_ came from an accepted file
};

}  // namespace ringrt::slurm
