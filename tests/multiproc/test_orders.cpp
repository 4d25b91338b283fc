// SPDX-License-Identifier: BSD-3-Clause
// The orders of addition over real processes: the same bits from every algorithm, layout and
// transport, the tree's at every number of ranks, and the bytes that leave a node.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <bit>
#include <cstring>
#include <random>

#include "libringrt/collective/communicator.h"
#include "libringrt/reduce/order.h"
#include "libringrt/transport/frame.h"
#include "tests/multiproc/layout.h"
#include "tests/support/check.h"
#include "tests/support/ranks.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

const char *name_of(Order order) {
    if (order == Order::Tree) return "tree";
    return order == Order::Ring ? "ring" : "rank";
}

void on_ranks(Layout layout, Order order, const char *algorithm,
              const std::function<std::string(Communicator &)> &body) {
    setenv("RINGRT_ORDER", name_of(order), 1);
    setenv("RINGRT_ALGORITHM", algorithm, 1);
    TemporaryDirectory directory;
    Ranks ranks(layout.ranks, [&](int rank) {
        Communicator comm(config_of(directory, layout, rank));
        std::string wrong = comm.start() == RINGRT_OK ? body(comm) : "start: " + comm.last_error();
        if (wrong.empty() && comm.finish() != RINGRT_OK) wrong = "finish: " + comm.last_error();
        if (!wrong.empty()) fprintf(stderr, "rank %d: %s\n", rank, wrong.c_str());
        return wrong.empty() ? 0 : 1;
    });
    std::vector<int> ended = ranks.wait(60 * kTimeoutScale);
    for (int r = 0; r < layout.ranks; ++r) {
        ck_assert_msg(ended[size_t(r)] == 0,
                      "%d ranks on %d nodes, %s order, %s: rank %d ended with %d", layout.ranks,
                      layout.nodes, name_of(order), algorithm, r, ended[size_t(r)]);
    }
}

// Values whose sum depends on the order of the additions.
std::vector<float> values_of(int rank, size_t count) {
    std::mt19937 random(unsigned(rank) * 7919 + unsigned(count));
    std::vector<float> out(count);
    for (float &x : out) x = std::ldexp(float(int(random() >> 8) - (1 << 23)), int(random() % 12));
    return out;
}

float tree_sum(const std::vector<float> &x, size_t first, size_t last) {
    if (last - first == 1) return x[first];
    const size_t middle = first + std::bit_floor(last - first - 1);
    return tree_sum(x, first, middle) + tree_sum(x, middle, last);
}

// By the definition in reduce/order.h, one element at a time.
std::vector<float> expected(Order order, int ranks, size_t count) {
    std::vector<std::vector<float>> inputs;
    for (int r = 0; r < ranks; ++r) inputs.push_back(values_of(r, count));
    std::vector<float> out(count), x(inputs.size());
    for (int b = 0; b < ranks; ++b) {
        const Share block = share(count, ranks, b);
        const size_t begin = order == Order::Ring ? size_t(b) + 1 : 0;
        for (size_t i = block.first; i < block.first + block.count; ++i) {
            for (size_t r = 0; r < x.size(); ++r) x[r] = inputs[(begin + r) % x.size()][i];
            float fold = x[0];
            for (size_t r = 1; r < x.size(); ++r) fold += x[r];
            out[i] = order == Order::Tree ? tree_sum(x, 0, x.size()) : fold;
        }
    }
    return out;
}

bool same(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * 4) == 0);
}

std::string check_sums(Communicator &comm, Order order, size_t count) {
    const int rank = comm.rank(), size = comm.size();
    const std::vector<float> input = values_of(rank, count), right = expected(order, size, count);
    std::vector<float> apart(count), in_place = input;
    if (comm.allreduce(input.data(), apart.data(), count, RINGRT_FLOAT32, RINGRT_SUM) != RINGRT_OK)
        return comm.last_error();
    if (!same(apart, right)) return "allreduce of " + std::to_string(count);
    if (comm.allreduce(in_place.data(), in_place.data(), count, RINGRT_FLOAT32, RINGRT_SUM) !=
        RINGRT_OK)
        return comm.last_error();
    if (!same(in_place, right)) return "allreduce in place of " + std::to_string(count);
    // As one buffer, and in pieces. There is no reduce-scatter in ring order.
    if (order == Order::Ring) order = Order::Rank;
    const std::vector<float> sums = expected(order, size, count);
    const Share mine = share(count, size, rank);
    std::vector<float> part(mine.count + 1), pieced(mine.count + 1), whole(count), gathered(count);
    if (comm.reduce_scatter(input.data(), part.data(), count, RINGRT_FLOAT32, RINGRT_SUM) !=
        RINGRT_OK)
        return comm.last_error();
    if (memcmp(part.data(), sums.data() + mine.first, mine.count * 4) != 0)
        return "reduce_scatter of " + std::to_string(count);
    std::vector<float> place = input;
    if (comm.reduce_scatter(place.data(), place.data() + mine.first, count, RINGRT_FLOAT32,
                            RINGRT_SUM) != RINGRT_OK)
        return comm.last_error();
    if (memcmp(place.data() + mine.first, part.data(), mine.count * 4) != 0)
        return "reduce_scatter in place of " + std::to_string(count);
    Ranges send;
    auto *bytes = reinterpret_cast<std::byte *>(const_cast<float *>(input.data()));
    for (size_t i = 0, k = 1; i < count; i += k++) {
        std::vector<std::byte> &copy = *new std::vector<std::byte>;  // freed when the process ends
        copy.assign(bytes + i * 4, bytes + std::min(count, i + k) * 4);
        send.add(copy.data(), copy.size());
    }
    if (comm.reduce_scatter(send, pieced.data(), count, RINGRT_FLOAT32, RINGRT_SUM) != RINGRT_OK)
        return comm.last_error();
    if (memcmp(pieced.data(), part.data(), mine.count * 4) != 0)
        return "reduce_scatter from pieces of " + std::to_string(count);
    if (comm.all_gather_shares(part.data(), whole.data(), count, RINGRT_FLOAT32) != RINGRT_OK)
        return comm.last_error();
    if (!same(whole, sums)) return "all_gather of " + std::to_string(count);
    std::vector<float> own_place = sums;
    for (size_t i = 0; i < count; ++i)
        if (i < mine.first || i >= mine.first + mine.count) own_place[i] = 0;
    if (comm.all_gather_shares(own_place.data() + mine.first, own_place.data(), count,
                               RINGRT_FLOAT32) != RINGRT_OK)
        return comm.last_error();
    return same(own_place, sums) ? "" : "all_gather in place of " + std::to_string(count);
}

TEST(every_order_matches_the_header) {
    struct Way {
        Order order;
        const char *algorithm;
    };
    constexpr Way kWays[] = {
        {Order::Rank, "auto"},   {Order::Ring, "auto"},   {Order::Ring, "ring"},
        {Order::Ring, "direct"}, {Order::Tree, "auto"},   {Order::Tree, "halving_doubling"},
        {Order::Tree, "tree"},   {Order::Tree, "direct"}, {Order::Tree, "one_shot"}};
    for (const Way &way : kWays) {
        for (Layout layout :
             {Layout{4, 1}, Layout{5, 5}, Layout{5, 2}, Layout{6, 2}, Layout{8, 4}}) {
            on_ranks(layout, way.order, way.algorithm, [&](Communicator &comm) -> std::string {
                for (size_t count : {size_t(0), size_t(1), size_t(6), size_t(9001)}) {
                    std::string wrong = check_sums(comm, way.order, count);
                    if (!wrong.empty()) return wrong;
                }
                return "";
            });
        }
    }
}

// Many segments, each with memory that was used before.
TEST(large_buffers_over_several_nodes) {
    for (Order order : {Order::Rank, Order::Ring, Order::Tree}) {
        for (Layout layout : {Layout{4, 2}, Layout{6, 3}, Layout{4, 4}}) {
            on_ranks(layout, order, "auto", [&](Communicator &comm) {
                std::string wrong = check_sums(comm, order, 700003);
                return wrong.empty() ? check_sums(comm, order, 70001) : wrong;
            });
        }
    }
}

// Half floats are sent as such or as sums in fp32: one rounding, whichever rank adds.
TEST(half_floats_are_rounded_once) {
    constexpr size_t kCount = 9001;
    auto values = [](int rank) {
        std::mt19937 random{unsigned(rank)};
        std::vector<uint16_t> out(kCount);
        for (uint16_t &x : out) x = uint16_t((random() & 0x83ff) | (11 + random() % 8) << 10);
        return out;
    };
    for (Order order : {Order::Ring, Order::Tree}) {
        for (auto dtype : {RINGRT_FLOAT16, RINGRT_BFLOAT16}) {
            for (Layout layout : {Layout{4, 1}, Layout{4, 2}, Layout{5, 5}}) {
                on_ranks(layout, order, order == Order::Ring ? "ring" : "auto",
                         [&](Communicator &comm) -> std::string {
                             std::vector<std::vector<uint16_t>> all;
                             std::vector<const void *> sources;
                             for (int r = 0; r < comm.size(); ++r) all.push_back(values(r));
                             for (const auto &each : all) sources.push_back(each.data());
                             std::vector<uint16_t> right(kCount), sum(kCount);
                             reduce_in_order(order,
                                             {.dtype = dtype,
                                              .op = RINGRT_AVG,
                                              .ranks = comm.size(),
                                              .sources = sources,
                                              .out = right.data(),
                                              .count = kCount},
                                             0, kCount);
                             if (comm.allreduce(all[size_t(comm.rank())].data(), sum.data(), kCount,
                                                dtype, RINGRT_AVG) != RINGRT_OK)
                                 return comm.last_error();
                             return sum == right ? "" : "average of half floats";
                         });
            }
        }
    }
}

// Eight micro-batches on 1, 2, 4 and 8 ranks, each rank adding its own as the tree does.
TEST(the_tree_gives_the_same_bits_at_every_size) {
    constexpr int kBatches = 8;
    constexpr size_t kCount = 20011;
    const std::vector<float> right = expected(Order::Tree, kBatches, kCount);
    for (Layout layout : {Layout{1, 1}, Layout{2, 1}, Layout{2, 2}, Layout{4, 1}, Layout{4, 2},
                          Layout{8, 1}, Layout{8, 2}, Layout{8, 8}}) {
        on_ranks(layout, Order::Tree, "auto", [&](Communicator &comm) -> std::string {
            const int each = kBatches / comm.size();
            std::vector<std::vector<float>> mine;
            std::vector<const void *> sources;
            for (int k = 0; k < each; ++k)
                mine.push_back(values_of(comm.rank() * each + k, kCount));
            for (const auto &batch : mine) sources.push_back(batch.data());
            std::vector<float> sum(kCount);
            reduce_in_order(Order::Tree, {.sources = sources, .out = sum.data(), .count = kCount},
                            0, kCount);
            if (comm.allreduce(sum.data(), sum.data(), kCount, RINGRT_FLOAT32, RINGRT_SUM) !=
                RINGRT_OK)
                return comm.last_error();
            return same(sum, right) ? "" : "other bits than one rank's";
        });
    }
}

// The bytes that this rank's TCP connections have sent, without retransmissions.
uint64_t bytes_sent() {
    uint64_t sum = 0;
    for (int fd = 3; fd < 256; ++fd) {
        tcp_info info{};
        socklen_t length = sizeof info;
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
            sum += info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
    }
    return sum;
}

// Per node, in both halves: (N-1)/N·n and the message headers, which are complete frames.
TEST(each_byte_leaves_its_node_once) {
    for (Layout layout : {Layout{4, 2}, Layout{8, 2}, Layout{6, 3}, Layout{8, 4}}) {
        const int local = layout.ranks / layout.nodes;
        const size_t n = size_t(layout.ranks) * 65536;  // in bytes
        on_ranks(layout, Order::Tree, "auto", [&](Communicator &comm) -> std::string {
            std::vector<float> data(n / 4, 1.0f), part(n / 4);
            const size_t due = n / size_t(layout.nodes) * size_t(layout.nodes - 1) / size_t(local);
            auto sent_by = [&](const char *what, size_t payload, auto call) -> std::string {
                // After a barrier, whose messages are only headers, everything that was sent has
                // arrived.
                if (comm.barrier() != RINGRT_OK) return comm.last_error();
                const uint64_t before = bytes_sent();
                if (call() != RINGRT_OK || comm.barrier() != RINGRT_OK) return comm.last_error();
                const uint64_t sent = bytes_sent() - before;
                if (sent >= payload && (sent - payload) % sizeof(Frame) == 0 &&
                    sent - payload <= payload / 50)
                    return "";
                return std::string(what) + " sent " + std::to_string(sent) + " bytes instead of " +
                       std::to_string(payload);
            };
            std::string wrong = sent_by("reduce_scatter", due, [&] {
                return comm.reduce_scatter(data.data(), part.data(), n / 4, RINGRT_FLOAT32,
                                           RINGRT_SUM);
            });
            if (wrong.empty())
                wrong = sent_by("all_gather", due, [&] {
                    return comm.all_gather_shares(part.data(), data.data(), n / 4, RINGRT_FLOAT32);
                });
            if (wrong.empty())
                wrong = sent_by("allreduce", 2 * due, [&] {
                    return comm.allreduce(data.data(), data.data(), n / 4, RINGRT_FLOAT32,
                                          RINGRT_SUM);
                });
            return wrong;
        });
    }
}

TEST(another_order_at_one_rank_is_an_error) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}}) {
        TemporaryDirectory directory;
        Ranks ranks(layout.ranks, [&](int rank) {
            setenv("RINGRT_ALGORITHM", "", 1);
            setenv("RINGRT_ORDER", rank == 0 ? "tree" : "rank", 1);
            Communicator comm(config_of(directory, layout, rank));
            std::vector<float> data(100);
            // Between nodes the start measures a sum and detects it there.
            ringrt_status_t status = comm.start();
            if (status == RINGRT_OK)
                status = comm.allreduce(data.data(), data.data(), data.size(), RINGRT_FLOAT32,
                                        RINGRT_SUM);
            if (status == RINGRT_PEER_LOST) return 0;  // the other rank saw it first
            const bool named = comm.last_error().find("in tree order") != std::string::npos;
            return status == RINGRT_MISMATCH && named ? 0 : 2;
        });
        const std::vector<int> ended = ranks.wait(60 * kTimeoutScale);
        ck_assert_int_eq(ended[0], 0);
        ck_assert_int_eq(ended[1], 0);
    }
}

TEST(an_unknown_word_gets_one_line) {
    setenv("RINGRT_ORDER", "rank", 1);
    setenv("RINGRT_ALGORITHM", "ring", 1);
    TemporaryDirectory directory;
    Communicator comm(config_of(directory, {1, 1}, 0));
    ck_assert_int_eq(comm.start(), RINGRT_INVALID_ARGUMENT);
    const std::string line = comm.last_error();
    ck_assert_str_eq(line.c_str(),
                     "RINGRT_ALGORITHM: expected one that adds in rank order (auto, one_shot, "
                     "direct, halving_doubling, chain), got \"ring\"");
}

}  // namespace

int main() { return run_all("orders", 180); }
