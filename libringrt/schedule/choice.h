// SPDX-License-Identifier: BSD-3-Clause
// Parses RINGRT_ORDER and RINGRT_ALGORITHM. PURE.
#pragma once

#include <optional>

#include "libringrt/base/status.h"
#include "libringrt/schedule/cost_model.h"
#include "libringrt/schedule/schedule.h"

namespace ringrt {

struct Choice {
    Order order = Order::Rank;
    std::optional<Algorithm> forced;  // unset: the cheapest that adds in this order

    // Equal if two ranks will run the same algorithm; OpHeader::detail of a reduction, described
    // there.
    [[nodiscard]] uint8_t code() const {
        return uint8_t(unsigned(order) << 4 | (forced ? unsigned(*forced) + 1 : 0));
    }
};

// `order` and `algorithm` are the variables' values, null or empty if unset. An algorithm that adds
// in only one order sets that order.
[[nodiscard]] Status parse_choice(const char *order, const char *algorithm, Choice *out);

[[nodiscard]] Schedule make_schedule(Algorithm algorithm, int rank, int size);

}  // namespace ringrt
