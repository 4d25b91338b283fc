// SPDX-License-Identifier: BSD-3-Clause
// Numbers formatted for people.
#pragma once

#include <string>

namespace ringrt::ringplan {

[[nodiscard]] std::string in_ms(double us);     // "12.3 ms"
[[nodiscard]] std::string in_mb(double bytes);  // "1.5 MB"
[[nodiscard]] std::string decimals(double value, int digits);
[[nodiscard]] std::string padded(std::string text, int width);  // negative width: left-aligned

}  // namespace ringrt::ringplan
