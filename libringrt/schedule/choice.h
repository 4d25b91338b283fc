// SPDX-License-Identifier: BSD-3-Clause
// What RINGRT_ORDER and RINGRT_ALGORITHM ask for. PURE.
#pragma once

#include <optional>

#include "libringrt/base/status.h"
#include "libringrt/schedule/cost_model.h"
#include "libringrt/schedule/schedule.h"

namespace ringrt {

struct Choice {
    Order order = Order::Rank;
    std::optional<Algorithm> forced;  // else the cheapest that adds in this order

    // Equal where two ranks will do the same; OpHeader::detail of a sum, described there.
    [[nodiscard]] uint8_t code() const {
        return uint8_t(unsigned(order) << 4 | (forced ? unsigned(*forced) + 1 : 0));
    }
};

// The variables' values, null or empty where unset. An algorithm that adds in one order only sets
// it.
[[nodiscard]] Status parse_choice(const char *order, const char *algorithm, Choice *out);

[[nodiscard]] Schedule make_schedule(Algorithm algorithm, int rank, int size);

}  // namespace ringrt
