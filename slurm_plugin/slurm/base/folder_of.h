// SPDX-License-Identifier: BSD-3-Clause
// folder_of: where a file lies.
#pragma once

#include <string>

namespace ringrt {

// Without the last '/', but for "/" itself; "." for a name alone.
[[nodiscard]] inline std::string folder_of(const std::string &path) {
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    return path.substr(0, slash == 0 ? 1 : slash);
}

}  // namespace ringrt
