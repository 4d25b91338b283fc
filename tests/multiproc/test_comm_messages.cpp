// SPDX-License-Identifier: BSD-3-Clause
// Messages between two ranks of a communicator, and groups of calls: every type and size compared
// with what was sent, in every permitted order, with ranks that die, stop or make another call.
#include <random>
#include <vector>

#include "tests/multiproc/comm_ranks.h"
#include "tests/multiproc/comm_values.h"

using namespace ringrt::test;

namespace {

constexpr Layout kLayouts[] = {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {2, 2}, {3, 2}, {4, 2}, {4, 4}};

// The n-th message from one rank to another.
Bytes message(int from, int to, int n, size_t count, ringrt_dtype_t dtype) {
    return made(count, dtype, [&](size_t i) {
        return value_of(from, i + 11 * size_t(to) + 101 * size_t(n), RINGRT_SUM) & 127;
    });
}

ringrt_status_t send(ringrt_comm_t *comm, const Bytes &bytes, int peer, int tag = 0,
                     ringrt_request_t **request = nullptr) {
    return ringrt_comm_send(bytes.data(), bytes.size(), RINGRT_UINT8, peer, tag, comm, request);
}

ringrt_status_t receive(ringrt_comm_t *comm, Bytes &bytes, int peer, int tag = 0,
                        ringrt_request_t **request = nullptr) {
    return ringrt_comm_recv(bytes.data(), bytes.size(), RINGRT_UINT8, peer, tag, comm, request);
}

std::string end_group(ringrt_comm_t *comm, bool by_request) {
    ringrt_request_t *request = nullptr;
    ringrt_status_t status = ringrt_comm_group_end(comm, by_request ? &request : nullptr);
    if (by_request && status == RINGRT_OK) status = ringrt_wait(request);
    return expect(comm, status, RINGRT_OK);
}

// Sends to the next rank and receives from the previous one; a single rank sends to itself.
std::string pass_round(ringrt_comm_t *comm, size_t count, ringrt_dtype_t dtype, bool by_request) {
    const int size = ringrt_comm_size(comm), rank = ringrt_comm_rank(comm);
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    const Bytes mine = message(rank, next, 0, count, dtype);
    const Bytes right = message(before, rank, 0, count, dtype);
    Bytes got(right.size() + 16, std::byte{0x5a});
    TRY_TEXT(expect(comm, ringrt_comm_group_start(comm), RINGRT_OK));
    TRY_TEXT(expect(comm, ringrt_comm_send(mine.data(), count, dtype, next, 3, comm, nullptr),
                    RINGRT_OK));
    TRY_TEXT(expect(comm, ringrt_comm_recv(got.data(), count, dtype, before, 3, comm, nullptr),
                    RINGRT_OK));
    TRY_TEXT(end_group(comm, by_request));
    const bool whole = std::equal(right.begin(), right.end(), got.begin());
    const bool no_more =
        std::count(got.begin() + ptrdiff_t(right.size()), got.end(), std::byte{0x5a}) == 16;
    return whole && no_more ? ""
                            : std::to_string(count) + " of " + std::to_string(dtype) + ": wrong";
}

TEST(messages_of_every_type_and_size) {
    for (Layout layout : kLayouts)
        on_comms(layout, [](ringrt_comm_t *comm) -> std::string {
            for (size_t count : {0, 1, 2, 3, 17, 1000, 4097, 100003})
                for (int dtype = RINGRT_FLOAT32; dtype <= RINGRT_UINT64; ++dtype)
                    TRY_TEXT(pass_round(comm, count, static_cast<ringrt_dtype_t>(dtype),
                                        (count + size_t(dtype)) % 2 == 0));
            return "";
        });
}

TEST(a_message_passes_from_rank_to_rank) {
    for (Layout layout : kLayouts)
        on_comms(layout, [](ringrt_comm_t *comm) -> std::string {
            const int size = ringrt_comm_size(comm), rank = ringrt_comm_rank(comm);
            for (size_t count : {0, 1, 700, 40000, 1 << 20}) {
                const Bytes right = message(0, 0, 0, count, RINGRT_UINT8);
                Bytes got = rank == 0 ? right : Bytes(count);
                if (rank > 0) TRY_TEXT(expect(comm, receive(comm, got, rank - 1), RINGRT_OK));
                if (got != right) return "wrong";
                if (rank < size - 1) TRY_TEXT(expect(comm, send(comm, got, rank + 1), RINGRT_OK));
            }
            return "";
        });
}

// The second of them is received first. A collective may come in between.
TEST(messages_are_received_by_tag) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}})
        for (size_t count : {0, 9, 70000, 1 << 20})
            on_comms(layout, [count](ringrt_comm_t *comm) -> std::string {
                Bytes bytes[4];
                ringrt_request_t *requests[4] = {};
                constexpr int kTags[] = {1, 2, 1, 3}, kOrder[] = {3, 0, 1, 2};
                if (ringrt_comm_rank(comm) == 0) {
                    for (int n = 0; n < 4; ++n) {
                        bytes[n] = message(0, 1, n, count + size_t(n), RINGRT_UINT8);
                        TRY_TEXT(expect(comm, send(comm, bytes[n], 1, kTags[n], &requests[n]),
                                        RINGRT_OK));
                    }
                    for (auto *request : requests)
                        TRY_TEXT(expect(comm, ringrt_wait(request), RINGRT_OK));
                    return expect(comm, ringrt_comm_barrier(comm, nullptr), RINGRT_OK);
                }
                for (int n : kOrder) {
                    bytes[n].resize(count + size_t(n));
                    TRY_TEXT(expect(comm, receive(comm, bytes[n], 0, kTags[n]), RINGRT_OK));
                    if (bytes[n] != message(0, 1, n, count + size_t(n), RINGRT_UINT8))
                        return "message " + std::to_string(n);
                    if (n == 3) continue;
                }
                return expect(comm, ringrt_comm_barrier(comm, nullptr), RINGRT_OK);
            });
}

// Small messages: the send is over before the receive begins.
TEST(a_message_waits_while_a_collective_runs) {
    for (Layout layout : {Layout{3, 1}, Layout{3, 2}, Layout{3, 3}})
        on_comms(layout, [](ringrt_comm_t *comm) -> std::string {
            const int rank = ringrt_comm_rank(comm);
            for (int i = 0; i < 20; ++i) {
                Bytes bytes = message(0, 1, i, 100, RINGRT_UINT8);
                if (rank == 0) TRY_TEXT(expect(comm, send(comm, bytes, 1), RINGRT_OK));
                TRY_TEXT(expect(comm, ringrt_comm_barrier(comm, nullptr), RINGRT_OK));
                Bytes got(100);
                if (rank == 1) TRY_TEXT(expect(comm, receive(comm, got, 0), RINGRT_OK));
                if (rank == 1 && got != bytes) return "wrong";
            }
            return "";
        });
}

// Each rank sends several messages of different sizes to each rank and itself. Every rank calls in
// another order, with collectives in between: what one rank calls first its peer may call last.
std::string exchange_all(ringrt_comm_t *comm, unsigned seed) {
    const int size = ringrt_comm_size(comm), rank = ringrt_comm_rank(comm);
    constexpr int kEach = 3;
    std::vector<Bytes> out, in(size_t(size * kEach));
    std::vector<int> order;
    auto count_of = [&](int from, int to, int n) {
        return size_t((from * 7919 + to * 104729 + n * 31337) % 5) * 30011;
    };
    for (int peer = 0; peer < size; ++peer)
        for (int n = 0; n < kEach; ++n) {
            out.push_back(message(rank, peer, n, count_of(rank, peer, n), RINGRT_UINT8));
            in[size_t(peer * kEach + n)].resize(count_of(peer, rank, n));
            order.push_back(peer * kEach + n);
            order.push_back(-1 - (peer * kEach + n));
        }
    std::mt19937 random(seed + unsigned(rank));
    std::shuffle(order.begin(), order.end(), random);
    int64_t one = 1, sum = 0;
    TRY_TEXT(expect(comm, ringrt_comm_group_start(comm), RINGRT_OK));
    for (size_t i = 0; i < order.size(); ++i) {
        if (i == order.size() / 2) {
            TRY_TEXT(expect(
                comm, ringrt_comm_allreduce(&one, &sum, 1, RINGRT_INT64, RINGRT_SUM, comm, nullptr),
                RINGRT_OK));
            TRY_TEXT(expect(comm, ringrt_comm_barrier(comm, nullptr), RINGRT_OK));
        }
        const int at = order[i] >= 0 ? order[i] : -1 - order[i];
        TRY_TEXT(expect(comm,
                        order[i] >= 0 ? send(comm, out[size_t(at)], at / kEach, at % kEach)
                                      : receive(comm, in[size_t(at)], at / kEach, at % kEach),
                        RINGRT_OK));
    }
    TRY_TEXT(end_group(comm, seed % 2 == 0));
    for (int peer = 0; peer < size; ++peer)
        for (int n = 0; n < kEach; ++n)
            if (in[size_t(peer * kEach + n)] !=
                message(peer, rank, n, count_of(peer, rank, n), RINGRT_UINT8))
                return "message " + std::to_string(n) + " of rank " + std::to_string(peer);
    return sum == size ? "" : "wrong sum";
}

TEST(a_group_is_exchanged_in_whatever_order_it_was_called) {
    for (Layout layout : kLayouts)
        on_comms(layout, [](ringrt_comm_t *comm) -> std::string {
            for (unsigned seed = 0; seed < 30; ++seed) TRY_TEXT(exchange_all(comm, seed));
            return "";
        });
}

TEST(a_refused_call_refuses_the_group) {
    on_comms({2, 1}, [](ringrt_comm_t *comm) -> std::string {
        Bytes bytes(4);
        ringrt_request_t *request = nullptr;
        ringrt_comm_t *part = nullptr;
        const int peer = 1 - ringrt_comm_rank(comm);
        const auto kRefused = RINGRT_INVALID_ARGUMENT;
        TRY_TEXT(expect(comm, ringrt_comm_group_end(comm, nullptr), kRefused, "no group is open"));
        TRY_TEXT(expect(comm, send(comm, bytes, 1 - peer), kRefused, "in one group"));
        TRY_TEXT(expect(comm, send(comm, bytes, peer, -1), kRefused, "tag"));
        auto refused = [&](ringrt_status_t status, const char *line) -> std::string {
            TRY_TEXT(expect(comm, status, kRefused, line));
            return expect(comm, ringrt_comm_group_end(comm, nullptr), kRefused, line);
        };
        TRY_TEXT(expect(comm, ringrt_comm_group_start(comm), RINGRT_OK));
        TRY_TEXT(expect(comm, ringrt_comm_group_start(comm), kRefused, "a group is open"));
        TRY_TEXT(expect(comm, ringrt_comm_split(comm, 0, 0, &part), kRefused, "within a group"));
        TRY_TEXT(expect(comm, send(comm, bytes, peer), RINGRT_OK));
        TRY_TEXT(refused(send(comm, bytes, 2), "peer is not a rank"));
        TRY_TEXT(expect(comm, ringrt_comm_group_start(comm), RINGRT_OK));
        TRY_TEXT(refused(ringrt_comm_barrier(comm, &request), "within a group"));
        TRY_TEXT(expect(comm, ringrt_comm_group_start(comm), RINGRT_OK));
        TRY_TEXT(expect(comm, send(comm, bytes, 1 - peer), RINGRT_OK));
        TRY_TEXT(expect(comm, ringrt_comm_group_end(comm, nullptr), kRefused, "to itself"));
        TRY_TEXT(expect(comm, ringrt_comm_group_start(comm), RINGRT_OK));
        TRY_TEXT(end_group(comm, false));
        return pass_round(comm, 5, RINGRT_FLOAT32, false);  // none of these began
    });
}

TEST(different_sizes_are_a_mismatch) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}})
        for (bool early : {false, true})
            on_comms(layout, [early](ringrt_comm_t *comm) -> std::string {
                Bytes eight(8), twelve(12);
                if (ringrt_comm_rank(comm) == 0) {
                    TRY_TEXT(expect(comm, send(comm, twelve, 1, 1), RINGRT_OK));
                    if (early) TRY_TEXT(expect(comm, send(comm, eight, 1, 2), RINGRT_OK));
                    return expect(comm, ringrt_comm_barrier(comm, nullptr), RINGRT_PEER_LOST,
                                  "rank 1");
                }
                if (early) TRY_TEXT(expect(comm, receive(comm, eight, 0, 2), RINGRT_OK));
                return expect(comm, receive(comm, eight, 0, 1), RINGRT_MISMATCH,
                              "sent 12 bytes where 8 were expected during a send or a receive");
            });
}

TEST(a_collective_instead_of_a_send_is_a_mismatch_between_nodes) {
    on_comms({2, 2}, [](ringrt_comm_t *comm) -> std::string {
        Bytes bytes(8);
        if (ringrt_comm_rank(comm) == 0)
            return expect(comm, ringrt_comm_barrier(comm, nullptr), RINGRT_PEER_LOST);
        return expect(comm, receive(comm, bytes, 0), RINGRT_MISMATCH, "calls barrier");
    });
}

// Within a node no rank is notified: the timeout ends the receive.
TEST(a_receive_without_a_send_ends_by_the_timeout) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}})
        on_comms(
            layout,
            [](ringrt_comm_t *comm) -> std::string {
                Bytes bytes(8);
                if (ringrt_comm_rank(comm) == 1) pause();
                return expect(comm, receive(comm, bytes, 1), RINGRT_TIMEOUT, "rank 1");
            },
            1, 500);
}

// Repeats every operation that moves blocks.
ringrt_status_t move_all(ringrt_comm_t *comm, int i, bool by_request) {
    const int size = ringrt_comm_size(comm), rank = ringrt_comm_rank(comm);
    const size_t count = size_t(i % 7) * 9001;
    static Bytes out(6 * 9001 * 4), in(6 * 9001 * 4);
    ringrt_request_t *request = nullptr, **wanted = by_request ? &request : nullptr;
    ringrt_status_t status = RINGRT_OK;
    switch (i % 4) {
        case 0:
            status = ringrt_comm_alltoall(out.data(), in.data(), count, RINGRT_UINT8, comm, wanted);
            break;
        case 1:
            status = ringrt_comm_gather(out.data(), in.data(), count, RINGRT_UINT8, i % size, comm,
                                        wanted);
            break;
        case 2:
            status = ringrt_comm_scatter(out.data(), in.data(), count, RINGRT_UINT8, i % size, comm,
                                         wanted);
            break;
        default:
            status = ringrt_comm_group_start(comm);
            for (int peer = 0; peer < size && status == RINGRT_OK; ++peer) {
                if (peer == rank) continue;
                (void)ringrt_comm_send(out.data(), count, RINGRT_UINT8, peer, 0, comm, nullptr);
                (void)ringrt_comm_recv(in.data() + size_t(peer) * count, count, RINGRT_UINT8, peer,
                                       0, comm, nullptr);
            }
            if (status == RINGRT_OK) status = ringrt_comm_group_end(comm, wanted);
    }
    return request && status == RINGRT_OK ? ringrt_wait(request) : status;
}

TEST(a_rank_that_is_killed_or_aborts_in_the_middle_ends_the_others) {
    for (Layout layout : {Layout{3, 1}, Layout{3, 3}, Layout{4, 2}})
        for (int trial = 0; trial < 6; ++trial) {
            const bool dies = trial % 2 == 0, by_request = trial % 3 == 0;
            on_comms(
                layout,
                [&](ringrt_comm_t *comm) -> std::string {
                    const bool ends = ringrt_comm_rank(comm) == 1;
                    std::thread other;
                    if (ends)
                        other = std::thread([&] {
                            std::this_thread::sleep_for(
                                std::chrono::microseconds(3000 + 1700 * trial));
                            dies ? void(raise(SIGKILL)) : void(ringrt_comm_abort(comm));
                        });
                    ringrt_status_t status = RINGRT_OK;
                    for (int i = 0; status == RINGRT_OK; ++i)
                        status = move_all(comm, i, by_request);
                    if (other.joinable()) other.join();
                    if (ends) return expect(comm, status, RINGRT_ABORTED);
                    return expect(comm, status, RINGRT_PEER_LOST, "rank 1");
                },
                dies ? 1 : -1);
        }
}

}  // namespace

int main() { return run_all("comm_messages"); }
