// SPDX-License-Identifier: BSD-3-Clause
// Schedules, run without a network.
#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>
#include <thread>

#include "libringrt/base/affinity.h"
#include "libringrt/schedule/by_nodes.h"
#include "libringrt/schedule/choice.h"
#include "libringrt/schedule/cost_model.h"
#include "libringrt/schedule/schedule.h"
#include "libringrt/shm/store_choice.h"
#include "libringrt/transport/transport.h"
#include "tests/support/check.h"
#include "tests/support/simulated_ranks.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

// Ranks `first`, `first` + 1 ... of `size`, modulo `size`.
Value left_fold(int first, int size) {
    Value value = std::to_string(first % size);
    for (int r = first + 1; r < first + size; ++r)
        value = "(" + value + "+" + std::to_string(r % size) + ")";
    return value;
}

Value tree_of(int first, int last) {
    if (last - first == 1) return std::to_string(first);
    const int middle = first + int(std::bit_floor(unsigned(last - first - 1)));
    return "(" + tree_of(first, middle) + "+" + tree_of(middle, last) + ")";
}

// The value of an allreduce's block b by the definition in reduce/order.h.
Value in_order(Order order, int size, int b) {
    if (order == Order::Tree) return tree_of(0, size);
    return left_fold(order == Order::Ring ? b + 1 : 0, size);
}

void check_allreduce(const char *name, Schedule (*make)(int, int), int size,
                     Order order = Order::Rank) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        Simulation simulation(size, make, seed, seed % 2 == 0);
        ck_assert_msg(simulation.run(), "%s of %d ranks is stuck", name, size);
        for (int r = 0; r < size; ++r) {
            for (int b = 0; b < simulation.blocks(); ++b) {
                ck_assert_msg(simulation.output(r, b) == in_order(order, size, b),
                              "%s of %d ranks: block %d of rank %d is %s", name, size, b, r,
                              simulation.output(r, b).c_str());
            }
        }
    }
}

TEST(every_allreduce_reduces_in_its_order) {
    for (int size = 1; size <= 17; ++size) {
        check_allreduce("direct", direct, size);
        check_allreduce("one_shot", one_shot, size);
        check_allreduce("chain", chain, size);
        check_allreduce("raw_halving", raw_halving, size);
        check_allreduce("ring", ring, size, Order::Ring);
        check_allreduce("halving", halving, size, Order::Tree);
        check_allreduce("tree", tree, size, Order::Tree);
    }
    check_allreduce("raw_halving", raw_halving, 32);
    check_allreduce("raw_halving", raw_halving, 61);
    check_allreduce("halving", halving, 61, Order::Tree);
    check_allreduce("tree", tree, 61, Order::Tree);
}

TEST(halves_of_an_allreduce) {
    for (int size = 1; size <= 9; ++size) {
        Simulation scatter(size, reduce_scatter_schedule, 1),
            gathered(size, all_gather_schedule, 1);
        ck_assert(scatter.run());
        ck_assert(gathered.run());
        for (int r = 0; r < size; ++r) {
            ck_assert(scatter.output(r, r) == left_fold(0, size));
            for (int b = 0; b < size; ++b) ck_assert(gathered.output(r, b) == std::to_string(b));
        }
    }
}

TEST(many_ranks_have_few_peers) {
    for (const int size : {1, 2, 3, 5, 8, 13, 33, 64, 100}) {
        Simulation gathered(size, all_gather_doubling, 1);
        ck_assert(gathered.run());
        for (int r = 0; r < size; ++r)
            for (int b = 0; b < size; ++b) ck_assert(gathered.output(r, b) == std::to_string(b));
        ck_assert_uint_eq(gathered.blocks_sent(), size_t(size) * size_t(size - 1));
        for (const int root : {0, size / 2, size - 1}) {
            Simulation tree(
                size, [root](int r, int p) { return binomial_broadcast(r, p, root); }, 1);
            ck_assert(tree.run());
            for (int r = 0; r < size; ++r) ck_assert(tree.output(r, 0) == std::to_string(root));
        }
        for (int r = 0; r < size; ++r) {
            std::set<int> peers;
            for (const Schedule &each :
                 {all_gather_doubling(r, size), binomial_broadcast(r, size, 0),
                  dissemination(r, size), reduce_scatter_chain(r, size)}) {
                for (const auto &message : each.sends) peers.insert(message.peer);
                for (const auto &message : each.receives) peers.insert(message.peer);
            }
            ck_assert_uint_le(peers.size(), 2 * size_t(std::bit_width(unsigned(size - 1))));
        }
    }
}

// Of a value, which names ranks and may name one several times.
std::set<int> ranks_in(const Value &value) {
    std::set<int> ranks;
    std::string digits;
    for (const char c : value + ")") {
        if (c >= '0' && c <= '9') {
            digits += c;
        } else if (!digits.empty()) {
            ranks.insert(std::stoi(digits));
            digits.clear();
        }
    }
    return ranks;
}

TEST(the_largest_of_all_ranks) {
    for (const bool aggregated : {false, true}) {
        auto make = [aggregated](int r, int p) {
            return largest_by_nodes(r, {.nodes = p, .aggregated = aggregated});
        };
        for (const int size : {2, 3, 4, 5, 7, 8, 13, 33}) {
            for (unsigned seed = 0; seed < 5; ++seed) {
                Simulation all(size, make, seed, seed % 2 == 0);
                ck_assert(all.run());
                for (int r = 0; r < size; ++r)
                    ck_assert_uint_eq(ranks_in(all.output(r, 0)).size(), size_t(size));
            }
        }
        const Schedule of_one = make(5, 33);
        ck_assert_uint_eq(of_one.sends.size(), aggregated ? 6 : 32);
    }
}

TEST(broadcast_and_barrier) {
    for (int size = 1; size <= 9; ++size) {
        for (int root = 0; root < size; ++root) {
            Simulation tree(
                size, [root](int r, int p) { return binary_tree_broadcast(r, p, root); }, 1);
            ck_assert(tree.run());
            for (int r = 0; r < size; ++r) ck_assert(tree.output(r, 0) == std::to_string(root));
        }
        Simulation barrier(size, dissemination, 1);
        ck_assert(barrier.run());
    }
}

TEST(blocks_are_moved_unchanged) {
    for (int size = 1; size <= 9; ++size) {
        Simulation all(size, all_to_all_schedule, 1);
        ck_assert(all.run());
        for (int root = 0; root < size; ++root) {
            auto gather = [root](int r, int p) { return gather_schedule(r, p, root); };
            auto scatter = [root](int r, int p) { return scatter_schedule(r, p, root); };
            Simulation gathered(size, gather, 1), scattered(size, scatter, 1);
            ck_assert(gathered.run() && scattered.run());
            for (int b = 0; b < size; ++b) {
                ck_assert(all.output(root, b) == std::to_string(b));
                ck_assert(gathered.output(root, b) == std::to_string(b));
                ck_assert(scattered.output(b, b) == std::to_string(root));
            }
        }
    }
}

TEST(traffic_matches_the_header) {
    for (int p : {2, 3, 4, 8}) {
        Simulation pairs(p, direct, 1), round(p, ring, 1), up_and_down(p, tree, 1);
        ck_assert(pairs.run());
        ck_assert_uint_eq(pairs.blocks_sent(), size_t(2 * (p - 1) * p));  // of n/p each
        ck_assert(round.run());
        ck_assert_uint_eq(round.blocks_sent(), size_t(2 * (p - 1) * p));
        for (int r = 0; r < p; ++r)  // and no other link carries data
            ck_assert_uint_eq(round.blocks_sent(r, (r + 1) % p), size_t(2 * (p - 1)));
        ck_assert(up_and_down.run());
        ck_assert_uint_eq(up_and_down.blocks_sent(), size_t(2 * (p - 1)));  // of n each
    }
    for (int p : {2, 4, 8, 16}) {
        Simulation raw(p, raw_halving, 1), sums(p, halving, 1);
        ck_assert(raw.run());
        size_t log = size_t(std::bit_width(unsigned(p)) - 1);
        ck_assert_uint_eq(raw.blocks_sent(), size_t(p) * (log * size_t(p) / 2 + size_t(p) - 1));
        ck_assert(sums.run());
        ck_assert_uint_eq(sums.blocks_sent(), size_t(2 * (p - 1) * p));
    }
}

TEST(the_cost_model_chooses_by_size_and_ranks) {
    CostModel model{.alpha_s = 20e-6, .beta_s_per_byte = 1 / 1.2e9, .gamma_s_per_byte = 1 / 5e9};
    model.ring_beta_s_per_byte = model.beta_s_per_byte;
    auto chosen = [&](Order order, int ranks, int ranks_per_node, size_t bytes) {
        return choose(model, order,
                      {.ranks = ranks, .ranks_per_node = ranks_per_node, .bytes = bytes});
    };
    ck_assert(chosen(Order::Rank, 2, 1, 64) == Algorithm::OneShot);
    ck_assert(chosen(Order::Rank, 16, 1, 32 << 10) == Algorithm::RawHalving);
    ck_assert(chosen(Order::Rank, 4, 1, 64 << 20) == Algorithm::Direct);
    ck_assert(chosen(Order::Tree, 63, 1, 64) == Algorithm::Tree);
    ck_assert(chosen(Order::Tree, 16, 1, 64 << 20) == Algorithm::Halving);
    // The ring wins if ranks share a link, or if many-to-one is slower than one-to-one.
    ck_assert(chosen(Order::Ring, 8, 1, 64 << 20) == Algorithm::Direct);
    ck_assert(chosen(Order::Ring, 8, 4, 64 << 20) == Algorithm::Ring);
    ck_assert(chosen(Order::Ring, 8, 4, 64) == Algorithm::OneShot);
    model.ring_beta_s_per_byte = 0.9 * model.beta_s_per_byte;
    ck_assert(chosen(Order::Ring, 8, 1, 64 << 20) == Algorithm::Ring);
}

// The byte counts of the formulas above, visible in the schedules when four ranks share a node.
TEST(the_cost_model_counts_what_leaves_a_node) {
    constexpr int kRanks = 16, kPerNode = 4;
    const CostModel bytes{
        .alpha_s = 0, .beta_s_per_byte = 1, .gamma_s_per_byte = 0, .ring_beta_s_per_byte = 1};
    auto expect_leaving = [&](Algorithm algorithm, Schedule (*make)(int, int)) {
        Simulation simulation(kRanks, make, 1);
        ck_assert(simulation.run());
        std::array<size_t, kRanks / kPerNode> out{};
        for (int from = 0; from < kRanks; ++from) {
            for (int to = 0; to < kRanks; ++to)
                if (from / kPerNode != to / kPerNode)
                    out[size_t(from / kPerNode)] += simulation.blocks_sent(from, to);
        }
        const size_t total = size_t(1024) * size_t(simulation.blocks());
        const double model = seconds(bytes, algorithm,
                                     {.ranks = kRanks, .ranks_per_node = kPerNode, .bytes = total});
        const size_t most = *std::max_element(out.begin(), out.end());
        ck_assert_double_eq_tol(model, double(most) * 1024, 1);
    };
    expect_leaving(Algorithm::Direct, direct);
    expect_leaving(Algorithm::OneShot, one_shot);
    expect_leaving(Algorithm::Ring, ring);
    expect_leaving(Algorithm::Halving, halving);
}

TEST(a_choice_is_parsed_or_refused_in_one_line) {
    auto parsed = [](const char *order, const char *algorithm) {
        Choice choice;
        const Status status = parse_choice(order, algorithm, &choice);
        ck_assert_msg(status.ok(), "%s", status.message.c_str());
        return choice;
    };
    ck_assert(parsed(nullptr, nullptr).code() == 0);
    ck_assert(parsed("", "").code() == 0);
    ck_assert(parsed("rank", "auto").code() == 0);
    ck_assert(parsed("tree", nullptr).order == Order::Tree);
    ck_assert(parsed(nullptr, "ring").order == Order::Ring);
    ck_assert(parsed(nullptr, "tree").order == Order::Tree);
    ck_assert(parsed(nullptr, "direct").order == Order::Rank);
    ck_assert(parsed("ring", "direct").order == Order::Ring);
    ck_assert(parsed(nullptr, "halving_doubling").forced == Algorithm::RawHalving);
    ck_assert(parsed("tree", "halving_doubling").forced == Algorithm::Halving);
    auto refused = [](const char *order, const char *algorithm, const char *line) {
        Choice choice;
        const Status status = parse_choice(order, algorithm, &choice);
        ck_assert_int_eq(status.code, RINGRT_INVALID_ARGUMENT);
        ck_assert_str_eq(status.message.c_str(), line);
    };
    refused("up", nullptr, "RINGRT_ORDER: expected rank, ring or tree, got \"up\"");
    refused(nullptr, "rings",
            "RINGRT_ALGORITHM: expected auto, one_shot, direct, halving_doubling, chain, ring or "
            "tree, got \"rings\"");
    refused("tree", "ring",
            "RINGRT_ALGORITHM: expected one that adds in tree order (auto, one_shot, direct, "
            "halving_doubling, tree), got \"ring\"");
    for (const char *name : {"one_shot", "direct", "halving_doubling", "chain", "ring", "tree"}) {
        const OpHeader call{.kind = kAllreduce, .detail = parsed(nullptr, name).code()};
        ck_assert_msg(describe(call).ends_with(std::string("order by ") + name), "%s",
                      describe(call).c_str());
    }
}

// Way 0 is faster at first. Then the cores move, and way 1 is.
TEST(stores_are_chosen_by_trial_and_retried) {
    constexpr int kTrialsOfBoth = 2 * StoreChoice::kTrials;
    StoreChoice choice(2, false, std::chrono::seconds(0));  // retried at the first glance
    ck_assert_int_eq(choice.best(1 << 20), 1);
    auto round = [&](double way0_s, double way1_s) {
        std::vector<int> ways;
        for (int i = 0; i < kTrialsOfBoth + StoreChoice::kGlance; ++i) {
            ways.push_back(choice.begin(size_t(1 << 20) + size_t(i)));  // one class of sizes
            choice.end(ways.back() == 0 ? way0_s : way1_s);
            (void)choice.begin(64);  // another size class is tried separately
            choice.end(way1_s);
        }
        return ways;
    };
    auto held = [](const std::vector<int> &ways, int way) {
        return std::all_of(ways.begin() + kTrialsOfBoth, ways.end(),
                           [=](int each) { return each == way; });
    };
    auto first = round(1e-3, 2e-3);
    ck_assert_int_eq(std::count(first.begin(), first.begin() + kTrialsOfBoth, 1),
                     StoreChoice::kTrials);
    ck_assert(held(first, 0));
    ck_assert(held(round(1e-3, 0.97e-3), 0));  // a difference this small may be noise
    ck_assert(held(round(2e-3, 1e-3), 1));
    ck_assert_int_eq(choice.best(1 << 20), 1);
    ck_assert(held(round(0.97e-3, 1e-3), 1));
}

TEST(a_helper_stays_among_the_cores_it_had) {
    std::thread([] {
        cpu_set_t before, after, both;
        ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
        int cpu = sched_getcpu();
        bool bound = stay_near(cpu);
        ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
        CPU_AND(&both, &before, &after);
        ck_assert(CPU_EQUAL(&both, &after));
        ck_assert(CPU_EQUAL(&before, &after) || (bound && CPU_COUNT(&after) >= 2));
        ck_assert(!stay_near(-1));
        ck_assert(!stay_near(1 << 20));
    }).join();
}

}  // namespace

int main() { return run_all("schedules"); }
