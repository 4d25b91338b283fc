// SPDX-License-Identifier: BSD-3-Clause
// directory_of: the directory of a file.
#pragma once

#include <string>

namespace ringrt {

// The path up to the last '/', "/" for a file in the root; "." for a bare name.
[[nodiscard]] inline std::string directory_of(const std::string &path) {
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    return path.substr(0, slash == 0 ? 1 : slash);
}

}  // namespace ringrt
