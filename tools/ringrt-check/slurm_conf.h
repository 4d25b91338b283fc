// SPDX-License-Identifier: BSD-3-Clause
// slurm.conf, as far as ringrt needs it, read without libslurm: that ends a program whose
// slurm.conf is wrong, and this one must be able to say so.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::check {

struct SlurmConf {
    std::string path;                           // as given
    std::string error;                          // not empty: it could not be read
    std::map<std::string, std::string> values;  // by lower-case key; the last line counts
    std::vector<std::string> node_gres;         // Gres= of the NodeName lines

    [[nodiscard]] std::string value(std::string_view key) const;  // empty: not set
};

// Follows Include lines, ten deep.
[[nodiscard]] SlurmConf read_slurm_conf(const std::string &path);

}  // namespace ringrt::check
