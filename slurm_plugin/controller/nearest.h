// SPDX-License-Identifier: BSD-3-Clause
// "did you mean …": the valid word nearest to a misspelt one.
#pragma once

#include <span>
#include <string_view>

namespace ringrt::controller {

// The candidate with the fewest letters to insert, delete or replace: at most a third of the word's
// letters plus one, and at most half of them. Empty: no candidate is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace ringrt::controller
