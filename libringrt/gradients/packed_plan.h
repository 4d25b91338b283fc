// SPDX-License-Identifier: BSD-3-Clause
// The wire format in which rank 0 sends a plan. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libringrt/bucketing/plan.h"

namespace ringrt {

[[nodiscard]] std::vector<uint64_t> packed(const bucketing::Plan &plan);

// std::nullopt if the words are not a plan. fault_of() (bucketing/plan.h) then checks the plan
// against the gradients.
[[nodiscard]] std::optional<bucketing::Plan> unpacked(std::span<const uint64_t> words);

}  // namespace ringrt
