// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/schedule/cost_model.h"

#include <algorithm>
#include <array>
#include <bit>

#include "libringrt/schedule/schedule.h"

namespace ringrt {
namespace {

constexpr std::array kRankOrder = {Algorithm::Direct, Algorithm::OneShot, Algorithm::RawHalving,
                                   Algorithm::Chain};
constexpr std::array kRingOrder = {Algorithm::Direct, Algorithm::OneShot, Algorithm::Ring};
constexpr std::array kTreeOrder = {Algorithm::Direct, Algorithm::OneShot, Algorithm::Halving,
                                   Algorithm::Tree};

int log2_floor(int ranks) { return std::bit_width(unsigned(ranks)) - 1; }

// Bytes that leave a node of `local` ranks when a power of two of ranks exchange half, a quarter
// ... of `bytes` over distance 1, 2 .... The first exchanges stay within the node.
double halves_between_nodes(int ranks, int local, double bytes) {
    double sent = 0;
    for (int distance = 1; distance < ranks; distance *= 2) {
        bytes /= 2;
        if (distance >= local) sent += bytes * local;
    }
    return sent;
}

}  // namespace

std::span<const Algorithm> algorithms_of(Order order) {
    if (order == Order::Ring) return kRingOrder;
    if (order == Order::Tree) return kTreeOrder;
    return kRankOrder;
}

double seconds(const CostModel &model, Algorithm algorithm, const Exchange &what) {
    const double p = what.ranks, n = double(what.bytes), share = (p - 1) / p * n;
    const double local = std::min(what.ranks_per_node, what.ranks);
    // For all ranks of a node: the part of a rank's traffic to each other rank that leaves the
    // node.
    const double leaving = p > 1 ? local * (p - local) / (p - 1) : 0;
    const double alpha = model.alpha_s, beta = model.beta_s_per_byte,
                 gamma = model.gamma_s_per_byte, partial = what.partial_factor;
    const double burst = alpha * exchange_latency(what.ranks);
    const int log = log2_floor(what.ranks);
    const bool groups = !std::has_single_bit(unsigned(what.ranks));
    const double inner = double(1 << log), across = groups ? n / inner : 0;
    switch (algorithm) {
        case Algorithm::OneShot:
            return burst + (p - 1) * n * leaving * beta + (p - 1) * n * gamma;
        case Algorithm::Direct:
            return 2 * burst + 2 * share * leaving * beta + share * gamma;
        case Algorithm::RawHalving: {
            // Within the largest group of ranks, plus once up and down to the next group if there
            // is one.
            const double raw = 0.5 * log * n;
            return alpha * (2 * log + (groups ? 2 : 0)) +
                   (raw + (inner - 1) / inner * n + (partial + 1) * across) * leaving * beta +
                   share * gamma;
        }
        case Algorithm::Chain:
            return 2 * (p - 1) * alpha + (p > 2 ? 1 + partial : 1) * n * beta + n * gamma;
        case Algorithm::Ring:
            return 2 * (p - 1) * alpha +
                   n / p * (1 + (p - 2) * partial + p - 1) * model.ring_beta_s_per_byte +
                   share * gamma;
        case Algorithm::Halving: {
            const double halves = halves_between_nodes(int(inner), int(local), n);
            // Up and down from each group to the next, one after the other.
            const int hops = 2 * (std::popcount(unsigned(what.ranks)) - 1);
            return alpha * (2 * log + hops) +
                   (halves * (1 + partial) + (partial + 1) * across * local) * beta + share * gamma;
        }
        case Algorithm::Tree: {
            const int levels = std::bit_width(unsigned(what.ranks - 1));
            return levels * (2 * alpha + (1 + partial) * n * beta + n * gamma);
        }
    }
    return 0;
}

// Whether a rank's connections and scratch stay small with so many ranks. Direct exchanges have p-1
// peers, and raw halving routes the data of all ranks through each, in scratch of p² blocks.
bool fits(Algorithm algorithm, int ranks) {
    constexpr int kRawRanks = 256;
    if (algorithm == Algorithm::Direct || algorithm == Algorithm::OneShot)
        return ranks <= kDirectRanks;
    return algorithm != Algorithm::RawHalving || ranks <= kRawRanks;
}

Algorithm choose(const CostModel &model, Order order, const Exchange &what) {
    const std::span<const Algorithm> all = algorithms_of(order);
    return *std::min_element(all.begin(), all.end(), [&](Algorithm a, Algorithm b) {
        const bool a_fits = fits(a, what.ranks), b_fits = fits(b, what.ranks);
        if (a_fits != b_fits) return a_fits;
        return seconds(model, a, what) < seconds(model, b, what);
    });
}

}  // namespace ringrt
