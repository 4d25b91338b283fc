// SPDX-License-Identifier: BSD-3-Clause
// The plugin's report about itself (slurm_plugin/slurm/host/diag.h), for people.
#pragma once

#include <string>
#include <string_view>

namespace ringrt::ringstat {

inline constexpr std::size_t kDiagBytesMax = 65536;

struct DiagReport {
    std::string text, json;
    std::string error;  // empty, or one line: why there is no report
};

[[nodiscard]] DiagReport parse_diag(std::string_view json, double now_s);
[[nodiscard]] DiagReport read_diag(const std::string &path, double now_s);

}  // namespace ringrt::ringstat
