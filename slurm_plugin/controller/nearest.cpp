// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace ringrt::controller {
namespace {

constexpr std::size_t kLettersMax = 64;

// Levenshtein distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
    if (word.size() > kLettersMax) return {};
    std::string_view best;
    std::size_t least = word.size() / 3 + 2;
    for (const std::string_view candidate : candidates) {
        const std::size_t letters = distance(word, candidate);
        if (2 * letters <= word.size() && letters < least) least = letters, best = candidate;
    }
    return best;
}

}  // namespace ringrt::controller
