// SPDX-License-Identifier: BSD-3-Clause
// The findings, for people and for programs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/ringrt-check/checks.h"

namespace ringrt::check {

[[nodiscard]] bool fits(std::span<const Finding> findings);
// `quiet`: only errors and warnings.
[[nodiscard]] std::string report_text(std::span<const Finding> findings, bool quiet);
[[nodiscard]] std::string report_json(const Site &site, std::string_view where,
                                      std::span<const Finding> findings);

}  // namespace ringrt::check
