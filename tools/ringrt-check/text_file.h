// SPDX-License-Identifier: BSD-3-Clause
// Small files of the site, read whole with a bound.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm_plugin/slurm/base/directory_of.h"

namespace ringrt::check {

inline constexpr std::size_t kTextBytesMax = 16 * 1024 * 1024;
inline constexpr int kIncludeDepthMax = 10;

// nullopt: cannot be opened or read, not a plain file, or longer than `bytes_max`; `error` has the
// reason.
[[nodiscard]] std::optional<std::string> read_file(const std::string &path, std::size_t bytes_max,
                                                   std::string &error);

[[nodiscard]] std::string lower(std::string_view text);
// Without empty items.
[[nodiscard]] std::vector<std::string> split(std::string_view text, std::string_view separators);
// A site's text made safe for a message: printable, at most 200 characters.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace ringrt::check
