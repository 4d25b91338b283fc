// SPDX-License-Identifier: BSD-3-Clause
// One rank of a training whose sums are predictable to the bit, for tests of the gradient exchange.
#pragma once

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "libringrt/gradients/gradient_reducer.h"
#include "tests/multiproc/layout.h"
#include "tests/support/check.h"

namespace ringrt::test {

inline void need(bool good, const std::string &what) {
    if (!good) throw std::runtime_error(what);
}

inline void need(const Status &result) { need(result.code == RINGRT_OK, result.message); }

// The contribution of rank `rank` to element i of a gradient in a step. Sums of these round.
inline float element(int rank, int gradient, uint64_t i, int step) {
    uint64_t mix = i * 0x9E3779B97F4A7C15U +
                   static_cast<uint64_t>(rank * 7919 + gradient * 104729 + step * 31);
    mix = (mix ^ mix >> 29) * 0xBF58476D1CE4E5B9U;
    return static_cast<float>(mix >> 40) / 1e6F - 8.0F;
}

inline float expected(int size, int gradient, uint64_t i, int step) {
    float sum = element(0, gradient, i, step);
    for (int rank = 1; rank < size; ++rank) sum += element(rank, gradient, i, step);
    return sum;
}

struct Job {
    Communicator communicator;

    Job(int ranks, int rank, const TemporaryDirectory &directory)
        : Job({.ranks = ranks}, rank, directory) {}
    Job(test::Layout layout, int rank, const TemporaryDirectory &directory)
        : communicator(config(layout, rank, directory)) {
        need(communicator.start() == RINGRT_OK, communicator.last_error());
    }

    static CommunicatorConfig config(test::Layout layout, int rank,
                                     const TemporaryDirectory &directory) {
        CommunicatorConfig out = test::config_of(directory, layout, rank);
        out.timeout_ms = 8000;
        return out;
    }
};

struct Training {
    GradientReducer &exchange;
    std::vector<std::vector<float>> gradients;

    Training(GradientReducer &given, const std::vector<uint64_t> &counts) : exchange(given) {
        for (size_t i = 0; i < counts.size(); ++i) {
            int id = -1;
            need(exchange.add("g" + std::to_string(i), counts[i], &id));
            need(id == static_cast<int>(i), "ids count up");
            gradients.emplace_back(counts[i]);
        }
    }

    void fill(int rank, int step) {
        for (size_t g = 0; g < gradients.size(); ++g) {
            for (uint64_t i = 0; i < gradients[g].size(); ++i) {
                gradients[g][i] = element(rank, static_cast<int>(g), i, step);
            }
        }
    }

    void ready(size_t g) { need(exchange.ready(static_cast<int>(g), gradients[g].data())); }

    void wait_and_check(int size, int step) {
        for (size_t g = 0; g < gradients.size(); ++g) {
            const void *sum = nullptr;
            need(exchange.wait(static_cast<int>(g), &sum));
            need(sum == gradients[g].data() || gradients[g].empty(), "the sum is in my buffer");
            for (uint64_t i = 0; i < gradients[g].size(); ++i) {
                const float want = expected(size, static_cast<int>(g), i, step);
                need(std::memcmp(&gradients[g][i], &want, sizeof want) == 0, "a sum differs");
            }
        }
    }
};

// Like hooks: all gradients, in random order, from four threads.
template <class AnyTraining>
void ready_in_any_order(AnyTraining &training, size_t gradients, std::mt19937 &random) {
    std::vector<size_t> order(gradients);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    std::vector<std::thread> hooks;
    for (size_t part = 0; part < 4; ++part) {
        hooks.emplace_back([&, part] {
            for (size_t i = part; i < order.size(); i += 4) training.ready(order[i]);
        });
    }
    for (std::thread &hook : hooks) hook.join();
}

inline const std::vector<uint64_t> kCounts = {1, 1000, 7, 0, 30000, 2049, 1, 5000};

inline bucketing::Profile profile_of(const std::vector<uint64_t> &counts) {
    bucketing::Profile profile;
    for (size_t i = 0; i < counts.size(); ++i) {
        profile.gradients.push_back(
            {"", counts[i] * 4, 100, 1000.0 * static_cast<double>(counts.size() - i)});
    }
    return profile;
}

inline std::vector<uint64_t> bytes_of(const std::vector<uint64_t> &counts) {
    std::vector<uint64_t> bytes;
    for (uint64_t count : counts) bytes.push_back(count * 4);
    return bytes;
}

inline std::string text_of(const std::string &path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

inline void expect_all_zero(const std::vector<int> &statuses) {
    for (size_t r = 0; r < statuses.size(); ++r) {
        ck_assert_msg(statuses[r] == 0, "rank %zu ended with %d", r, statuses[r]);
    }
}

}  // namespace ringrt::test
