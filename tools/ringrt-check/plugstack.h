// SPDX-License-Identifier: BSD-3-Clause
// plugstack.conf: the SPANK plugins that Slurm loads.
#pragma once

#include <string>
#include <vector>

namespace ringrt::check {

struct SpankLine {
    std::string where;    // FILE:LINE
    std::string keyword;  // optional, required
    std::string plugin;   // a path, or a name in PluginDir
};

struct Plugstack {
    std::string error;  // not empty: a file could not be read
    std::vector<SpankLine> lines;
};

// Follows include lines, ten deep (globs; relative ones start at the file's own directory).
[[nodiscard]] Plugstack read_plugstack(const std::string &path);

}  // namespace ringrt::check
