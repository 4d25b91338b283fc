// SPDX-License-Identifier: BSD-3-Clause
// The part of slurm.conf that ringrt needs, read without libslurm, which ends a program if
// slurm.conf is wrong. This program must report the error instead.
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
