// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/schedule/cost_model.h"

#include <bit>

namespace ringrt {
namespace {

int log2_floor(int ranks) { return std::bit_width(unsigned(ranks)) - 1; }

}  // namespace

double seconds(const CostModel &model, Algorithm algorithm, int ranks, size_t bytes) {
    double p = ranks, n = double(bytes), share = (p - 1) / p * n;
    double alpha = model.alpha_s, beta = model.beta_s_per_byte, gamma = model.gamma_s_per_byte;
    double burst = alpha * exchange_latency(ranks);
    switch (algorithm) {
        case Algorithm::OneShot:
            return burst + (p - 1) * n * beta + (p - 1) * n * gamma;
        case Algorithm::Pairwise:
            return 2 * burst + 2 * share * beta + share * gamma;
        case Algorithm::BinaryBlocks: {
            // Within the largest block of ranks, and once up and down to the next where there is
            // one.
            int log = log2_floor(ranks);
            bool blocks = !std::has_single_bit(unsigned(ranks));
            double raw = 0.5 * log * n, inner = double(1 << log);
            double across = blocks ? n / inner : 0;
            return alpha * (2 * log + (blocks ? 2 : 0)) +
                   (raw + (inner - 1) / inner * n + 2 * across) * beta + share * gamma;
        }
        case Algorithm::Chain:
            return 2 * (p - 1) * alpha + (p > 2 ? 2 : 1) * n * beta + n * gamma;
    }
    return 0;
}

Algorithm choose(const CostModel &model, int ranks, size_t bytes) {
    Algorithm best = Algorithm::Pairwise;
    for (Algorithm each : kAlgorithms) {
        if (seconds(model, each, ranks, bytes) < seconds(model, best, ranks, bytes)) best = each;
    }
    return best;
}

}  // namespace ringrt
