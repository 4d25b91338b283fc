// SPDX-License-Identifier: BSD-3-Clause
// "did you mean …": the word that was meant by a misspelt one.
#pragma once

#include <span>
#include <string_view>

namespace ringrt::controller {

// The candidate with the fewest letters to insert, delete or replace: at most one more than a third
// of the word's letters, and half of them; empty: none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace ringrt::controller
