// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/schedule/choice.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace ringrt {
namespace {

struct OrderRow {
    std::string_view name;
    Order order;
};
constexpr std::array kOrders = {OrderRow{"rank", Order::Rank}, OrderRow{"ring", Order::Ring},
                                OrderRow{"tree", Order::Tree}};

// Both halvings have one name; the order selects which one runs.
struct AlgorithmRow {
    std::string_view name;
    Algorithm algorithm;
};
constexpr std::array kAlgorithms = {
    AlgorithmRow{"one_shot", Algorithm::OneShot},
    AlgorithmRow{"direct", Algorithm::Direct},
    AlgorithmRow{"halving_doubling", Algorithm::RawHalving},
    AlgorithmRow{"halving_doubling", Algorithm::Halving},
    AlgorithmRow{"chain", Algorithm::Chain},
    AlgorithmRow{"ring", Algorithm::Ring},
    AlgorithmRow{"tree", Algorithm::Tree},
};

bool adds_in(Order order, Algorithm algorithm) {
    const auto all = algorithms_of(order);
    return std::find(all.begin(), all.end(), algorithm) != all.end();
}

std::optional<Order> order_named(std::string_view name) {
    for (const OrderRow &row : kOrders)
        if (row.name == name) return row.order;
    return {};
}

std::optional<Algorithm> algorithm_named(std::string_view name, Order order) {
    for (const AlgorithmRow &row : kAlgorithms)
        if (row.name == name && adds_in(order, row.algorithm)) return row.algorithm;
    return {};
}

std::string names_for(Order order) {
    std::string names = "auto";
    for (const AlgorithmRow &row : kAlgorithms)
        if (adds_in(order, row.algorithm)) names += ", " + std::string(row.name);
    return names;
}

bool is_set(const char *value) { return value != nullptr && *value != 0; }

}  // namespace

Status parse_choice(const char *order, const char *algorithm, Choice *out) {
    *out = {};
    if (is_set(order)) {
        const auto named = order_named(order);
        if (!named)
            return {RINGRT_INVALID_ARGUMENT,
                    format_text("RINGRT_ORDER: expected rank, ring or tree, got \"%.40s\"", order)};
        out->order = *named;
    }
    if (!is_set(algorithm) || std::string_view(algorithm) == "auto") return {};
    // The first order in which the algorithm adds, unless RINGRT_ORDER is set.
    for (const OrderRow &row : kOrders) {
        if (is_set(order) && row.order != out->order) continue;
        out->forced = algorithm_named(algorithm, row.order);
        out->order = row.order;
        if (out->forced) return {};
    }
    if (is_set(order)) {
        return {RINGRT_INVALID_ARGUMENT,
                format_text("RINGRT_ALGORITHM: expected one that adds in %s order (%s), got "
                            "\"%.40s\"",
                            order, names_for(out->order).c_str(), algorithm)};
    }
    return {RINGRT_INVALID_ARGUMENT,
            format_text("RINGRT_ALGORITHM: expected auto, one_shot, direct, halving_doubling, "
                        "chain, ring or tree, got \"%.40s\"",
                        algorithm)};
}

Schedule make_schedule(Algorithm algorithm, int rank, int size) {
    switch (algorithm) {
        case Algorithm::OneShot:
            return one_shot(rank, size);
        case Algorithm::RawHalving:
            return raw_halving(rank, size);
        case Algorithm::Chain:
            return chain(rank, size);
        case Algorithm::Ring:
            return ring(rank, size);
        case Algorithm::Halving:
            return halving(rank, size);
        case Algorithm::Tree:
            return tree(rank, size);
        case Algorithm::Direct:
            break;
    }
    return direct(rank, size);
}

}  // namespace ringrt
