// SPDX-License-Identifier: BSD-3-Clause
// A plan as it travels from rank 0 to the others. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libringrt/bucketing/plan.h"

namespace ringrt {

[[nodiscard]] std::vector<uint64_t> packed(const bucketing::Plan &plan);

// Nothing where the words are no plan. Whether it is one for these gradients, fault_of() says.
[[nodiscard]] std::optional<bucketing::Plan> unpacked(std::span<const uint64_t> words);

}  // namespace ringrt
