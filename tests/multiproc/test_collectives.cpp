// SPDX-License-Identifier: BSD-3-Clause
// The collectives over real processes: every size around the boundaries, every dtype and op, in and
// out of place, bit by bit against the left fold in rank order.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "libringrt/collective/communicator.h"
#include "libringrt/reduce/reduce.h"
#include "tests/multiproc/layout.h"
#include "tests/support/check.h"
#include "tests/support/ranks.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

// Runs `body` on every rank of every layout. It returns "" or an error.
void on_ranks(Layout layout, const std::function<std::string(Communicator &)> &body) {
    TemporaryDirectory directory;
    Ranks ranks(layout.ranks, [&](int rank) {
        Communicator comm(config_of(directory, layout, rank));
        std::string wrong;
        if (comm.start() == RINGRT_OK) {
            wrong = body(comm);
            if (wrong.empty() && comm.finish() != RINGRT_OK) wrong = "finish: " + comm.last_error();
        } else {
            wrong = "start: " + comm.last_error();
        }
        if (!wrong.empty())
            fprintf(stderr, "rank %d of %d: %s\n", rank, layout.ranks, wrong.c_str());
        return wrong.empty() ? 0 : 1;
    });
    std::vector<int> ended = ranks.wait(60 * kTimeoutScale);
    for (int r = 0; r < layout.ranks; ++r) {
        ck_assert_msg(ended[size_t(r)] == 0, "%d ranks on %d nodes: rank %d ended with %d",
                      layout.ranks, layout.nodes, r, ended[size_t(r)]);
    }
}

// Element i of `rank`: values whose sum depends on the order of the additions.
void make_input(std::vector<std::byte> *out, int rank, size_t count, ringrt_dtype_t dtype,
                uint64_t seed) {
    std::mt19937_64 random(seed * 1000 + uint64_t(rank));
    out->resize(count * dtype_bytes(dtype));
    for (size_t i = 0; i < count; ++i) {
        double magnitude =
            std::ldexp(double(random() >> 11) * 0x1p-53 + 0.5, int(random() % 9) - 4);
        double value = random() % 2 == 0 ? magnitude : -magnitude;
        std::byte *at = out->data() + i * dtype_bytes(dtype);
        float f = float(value);
        auto top = uint16_t(std::bit_cast<uint32_t>(f) >> 16);
        // A finite half: sign, exponent 11 .. 18, random mantissa.
        auto half = uint16_t((random() & 0x83ff) | (11 + random() % 8) << 10);
        auto whole = int64_t(random());
        switch (dtype) {
            case RINGRT_FLOAT32:
                memcpy(at, &f, 4);
                break;
            case RINGRT_FLOAT64:
                memcpy(at, &value, 8);
                break;
            case RINGRT_FLOAT16:
                memcpy(at, &half, 2);
                break;
            case RINGRT_BFLOAT16:
                memcpy(at, &top, 2);
                break;
            case RINGRT_INT32:
            case RINGRT_UINT32:
                memcpy(at, &whole, 4);
                break;
            case RINGRT_INT64:
            case RINGRT_UINT64:
                memcpy(at, &whole, 8);
                break;
            case RINGRT_FLOAT8_E4M3:
            case RINGRT_FLOAT8_E5M2:
                *at = std::byte(whole & 0xbf);  // finite: without the highest exponents
                break;
            case RINGRT_UINT8:
            case RINGRT_INT8:
            case RINGRT_BOOL:
                *at = std::byte(whole);
                break;
        }
    }
}

std::vector<std::byte> expected(int ranks, size_t count, ringrt_dtype_t dtype, ringrt_op_t op,
                                uint64_t seed) {
    std::vector<std::vector<std::byte>> inputs;
    inputs.resize(size_t(ranks));
    std::vector<const void *> sources;
    for (int r = 0; r < ranks; ++r) {
        make_input(&inputs[size_t(r)], r, count, dtype, seed);
        sources.push_back(inputs[size_t(r)].data());
    }
    std::vector<std::byte> out(count * dtype_bytes(dtype));
    reduce({.dtype = dtype,
            .op = op,
            .ranks = ranks,
            .sources = sources,
            .out = out.data(),
            .count = count});
    return out;
}

struct Case {
    size_t count;
    ringrt_dtype_t dtype = RINGRT_FLOAT32;
    ringrt_op_t op = RINGRT_SUM;
    bool in_place = true;
    size_t misalign = 0;  // in bytes
};

std::string check_allreduce(Communicator &comm, const Case &c) {
    uint64_t seed = c.count * 31 + uint64_t(c.dtype) * 7 + uint64_t(c.op);
    std::vector<std::byte> input;
    make_input(&input, comm.rank(), c.count, c.dtype, seed);
    std::vector<std::byte> memory(2 * (input.size() + 64), std::byte{0x5a});
    std::byte *send = memory.data() + c.misalign,
              *recv = c.in_place ? send : send + input.size() + 64;
    if (!input.empty()) memcpy(send, input.data(), input.size());
    if (comm.allreduce(send, recv, c.count, c.dtype, c.op) != RINGRT_OK) return comm.last_error();
    auto right = expected(comm.size(), c.count, c.dtype, c.op, seed);
    std::string what = "count " + std::to_string(c.count) + " dtype " + std::to_string(c.dtype) +
                       " op " + std::to_string(c.op) + (c.in_place ? " in place" : " out of place");
    if (!right.empty() && memcmp(recv, right.data(), right.size()) != 0)
        return "wrong sum: " + what;
    if (recv[input.size()] != std::byte{0x5a}) return "wrote past the end: " + what;
    if (!c.in_place && !input.empty() && memcmp(send, input.data(), input.size()) != 0)
        return "input changed: " + what;
    return "";
}

const Layout kLayouts[] = {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {8, 1},
                           {2, 2}, {3, 3}, {4, 2}, {5, 2}, {8, 4}};

TEST(allreduce_over_counts) {
    for (Layout layout : kLayouts) {
        on_ranks(layout, [&](Communicator &comm) -> std::string {
            auto p = size_t(comm.size());
            std::set<size_t> counts{0, 1, p - 1, p, p + 1, 17, 4097, 70001, 700003};
            for (size_t count : counts) {
                for (bool in_place : {true, false}) {
                    std::string wrong =
                        check_allreduce(comm, {.count = count, .in_place = in_place});
                    if (!wrong.empty()) return wrong;
                }
            }
            return "";
        });
    }
}

TEST(allreduce_over_dtypes_and_ops) {
    for (Layout layout : {Layout{3, 1}, Layout{4, 2}, Layout{3, 3}}) {
        on_ranks(layout, [&](Communicator &comm) -> std::string {
            for (int dtype = RINGRT_FLOAT32; dtype <= RINGRT_UINT64; ++dtype) {
                for (int op = RINGRT_SUM; op <= RINGRT_PROD; ++op) {
                    if (!can_reduce(ringrt_dtype_t(dtype), ringrt_op_t(op))) continue;
                    for (size_t count : {size_t(7), size_t(5003)}) {
                        for (size_t misalign : {0, 1, 2}) {
                            std::string wrong =
                                check_allreduce(comm, {.count = count,
                                                       .dtype = ringrt_dtype_t(dtype),
                                                       .op = ringrt_op_t(op),
                                                       .in_place = op % 2 == 0,
                                                       .misalign = misalign});
                            if (!wrong.empty()) return wrong;
                        }
                    }
                }
            }
            return "";
        });
    }
}

std::string wrong_largest(Communicator &comm) {
    std::vector<uint8_t> own(8, 1), all(8);
    own[size_t(comm.rank()) % 7] = uint8_t(10 + comm.rank());
    if (comm.largest(own.data(), all.data(), 8) != RINGRT_OK) return comm.last_error();
    if (comm.largest(own.data(), own.data(), 8) != RINGRT_OK) return comm.last_error();
    if (own != all) return "largest in place";
    for (int i = 0; i < 8; ++i) {
        int largest = 1;
        for (int r = i; r < comm.size() && i < 7; r += 7) largest = 10 + r;
        if (all[size_t(i)] != largest) return "largest";
    }
    return "";
}

TEST(the_other_collectives) {
    for (Layout layout : kLayouts) {
        on_ranks(layout, [&](Communicator &comm) -> std::string {
            int rank = comm.rank(), size = comm.size();
            for (size_t count : {size_t(0), size_t(1), size_t(size), size_t(10007)}) {
                std::vector<std::byte> input;
                make_input(&input, rank, count, RINGRT_FLOAT32, count);
                auto right = expected(size, count, RINGRT_FLOAT32, RINGRT_SUM, count);
                Share mine = share(count, size, rank);
                std::vector<float> part(mine.count + 1), whole(count + 1);
                if (comm.reduce_scatter(input.data(), part.data(), count, RINGRT_FLOAT32,
                                        RINGRT_SUM) != RINGRT_OK)
                    return comm.last_error();
                if (mine.count > 0 &&
                    memcmp(part.data(), right.data() + mine.first * 4, mine.count * 4) != 0)
                    return "reduce_scatter";
                std::vector<std::byte> place = input;  // in place; shares may be unequal
                std::byte *own = place.data() + mine.first * 4;
                if (comm.reduce_scatter(place.data(), own, count, RINGRT_FLOAT32, RINGRT_SUM) !=
                    RINGRT_OK)
                    return comm.last_error();
                if (mine.count > 0) {
                    if (memcmp(own, part.data(), mine.count * 4) != 0)
                        return "reduce_scatter in place";
                    memcpy(own, input.data() + mine.first * 4, mine.count * 4);
                }
                if (place != input) return "reduce_scatter in place wrote elsewhere";
                if (comm.all_gather_shares(part.data(), whole.data(), count, RINGRT_FLOAT32) !=
                    RINGRT_OK)
                    return comm.last_error();
                if (count > 0 && memcmp(whole.data(), right.data(), count * 4) != 0)
                    return "all_gather_shares";
                std::vector<char> each(count, char('a' + rank)), all(count * size_t(size) + 1);
                if (comm.all_gather(each.data(), all.data(), count) != RINGRT_OK)
                    return comm.last_error();
                for (size_t i = 0; i < count * size_t(size); ++i) {
                    if (all[i] != char('a' + i / count)) return "all_gather";
                }
                for (int root = 0; root < size; ++root) {
                    std::vector<char> text(count, char(rank == root ? 'x' : '-'));
                    if (comm.broadcast(text.data(), count, root) != RINGRT_OK)
                        return comm.last_error();
                    if (text != std::vector<char>(count, 'x')) return "broadcast";
                }
                if (comm.barrier() != RINGRT_OK) return comm.last_error();
                if (std::string wrong = wrong_largest(comm); !wrong.empty()) return wrong;
            }
            return "";
        });
    }
}

TEST(all_algorithms_give_the_same_bits) {
    for (const char *algorithm : {"one_shot", "direct", "halving_doubling", "chain"}) {
        setenv("RINGRT_ALGORITHM", algorithm, 1);
        for (Layout layout :
             {Layout{2, 2}, Layout{3, 3}, Layout{4, 4}, Layout{7, 7}, Layout{5, 2}}) {
            on_ranks(layout, [&](Communicator &comm) -> std::string {
                for (auto dtype : {RINGRT_FLOAT32, RINGRT_FLOAT16, RINGRT_BFLOAT16}) {
                    for (size_t count :
                         {size_t(0), size_t(1), size_t(6), size_t(9001), size_t(200003)}) {
                        std::string wrong = check_allreduce(comm, {.count = count, .dtype = dtype});
                        if (!wrong.empty()) return std::string(algorithm) + ": " + wrong;
                    }
                }
                return "";
            });
        }
    }
}

TEST(shared_buffers_give_the_same_bits) {
    for (Layout layout : {Layout{1, 1}, Layout{2, 1}, Layout{4, 1}, Layout{4, 2}}) {
        on_ranks(layout, [&](Communicator &comm) -> std::string {
            for (size_t count : {size_t(5), size_t(9001), size_t(300007)}) {
                void *send = nullptr, *recv = nullptr;
                if (comm.alloc(count * 4, &send) != RINGRT_OK) return comm.last_error();
                if (comm.alloc(count * 4, &recv) != RINGRT_OK) return comm.last_error();
                std::vector<std::byte> input;
                make_input(&input, comm.rank(), count, RINGRT_FLOAT32, count);
                auto right = expected(comm.size(), count, RINGRT_FLOAT32, RINGRT_SUM, count);
                // Out of place, in place, and with private memory at only one rank.
                for (void *to : {recv, send, static_cast<void *>(input.data())}) {
                    if (to != input.data()) memcpy(send, input.data(), input.size());
                    const void *from = to == recv || comm.rank() != 0 ? send : to;
                    if (to == input.data() && comm.rank() != 0) {
                        memcpy(send, input.data(), input.size());
                        to = send;
                    }
                    if (comm.allreduce(from, to, count, RINGRT_FLOAT32, RINGRT_SUM) != RINGRT_OK) {
                        return comm.last_error();
                    }
                    if (memcmp(to, right.data(), right.size()) != 0) return "shared buffers";
                }
                if (comm.free(send) != RINGRT_OK || comm.free(recv) != RINGRT_OK) return "free";
            }
            void *huge = nullptr;
            if (comm.size() > 1 && comm.alloc(size_t{1} << 50, &huge) != RINGRT_NO_MEMORY)
                return "2^50 bytes";
            return comm.barrier() == RINGRT_OK ? "" : "not usable after a refused alloc";
        });
    }
}

TEST(started_operations_end_correctly_in_any_order) {
    for (Layout layout : {Layout{1, 1}, Layout{3, 1}, Layout{4, 2}}) {
        on_ranks(layout, [&](Communicator &comm) -> std::string {
            constexpr int kOperations = 20;
            std::vector<std::vector<float>> data(kOperations);
            for (int repeat = 0; repeat < 5; ++repeat) {
                std::vector<std::unique_ptr<Request>> requests(kOperations);
                for (int k = 0; k < kOperations; ++k) {
                    auto &mine = data[size_t(k)];
                    mine.assign(size_t(1000 * k + 1), float(comm.rank() + k));
                    if (comm.rank() == 1)
                        std::this_thread::sleep_for(std::chrono::microseconds(200));
                    if (comm.start_allreduce(mine.data(), mine.data(), mine.size(), RINGRT_FLOAT32,
                                             RINGRT_SUM, -k, &requests[size_t(k)]) != RINGRT_OK) {
                        return comm.last_error();
                    }
                }
                ringrt_status_t status = RINGRT_OK;
                while (!requests[3]->test(&status)) std::this_thread::yield();
                for (auto &request : requests) {
                    if (request->wait() != RINGRT_OK) return comm.last_error();
                }
                int p = comm.size();
                for (int k = 0; k < kOperations; ++k) {
                    for (float x : data[size_t(k)]) {
                        if (x != float(p * (p - 1) / 2 + p * k)) return "wrong sum";
                    }
                }
            }
            return comm.barrier() == RINGRT_OK ? "" : comm.last_error();
        });
    }
}

}  // namespace

int main() { return run_all("collectives"); }
