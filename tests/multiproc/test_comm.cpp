// SPDX-License-Identifier: BSD-3-Clause
// Communicators through the C API: every operation on every type against a serial reference,
// requests, split communicators, several in one process, and every kind of rendezvous.
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/multiproc/comm_ranks.h"
#include "tests/multiproc/comm_values.h"

using namespace ringrt::test;

namespace {

struct Case {
    size_t count;
    ringrt_dtype_t dtype;
    ringrt_op_t op;
    bool by_request;
};

// Runs call(recv, request), and checks what it wrote and that it wrote nothing else.
template <typename Call>
std::string check(ringrt_comm_t *comm, const Case &c, const char *name, const Bytes &right,
                  Call call) {
    Bytes recv(right.size() + 16, std::byte{0x5a});
    ringrt_request_t *request = nullptr;
    ringrt_status_t status = call(recv.data(), c.by_request ? &request : nullptr);
    if (c.by_request && status == RINGRT_OK) status = ringrt_wait(request);
    const std::string what = std::string(name) + " of " + std::to_string(c.count) + " dtype " +
                             std::to_string(c.dtype) + " op " + std::to_string(c.op) +
                             (c.by_request ? " by request" : "");
    if (status != RINGRT_OK) return what + ": " + ringrt_comm_last_error(comm);
    if (!right.empty() && memcmp(recv.data(), right.data(), right.size()) != 0)
        return what + ": wrong";
    for (size_t i = right.size(); i < recv.size(); ++i)
        if (recv[i] != std::byte{0x5a}) return what + ": wrote past the end";
    return "";
}

std::string check_reductions(ringrt_comm_t *comm, const Case &c) {
    const int size = ringrt_comm_size(comm), rank = ringrt_comm_rank(comm);
    const int root = static_cast<int>(c.count) % size;
    const Bytes send = made(c.count, c.dtype, [&](size_t i) { return value_of(rank, i, c.op); });
    const Bytes sum = made(c.count, c.dtype, [&](size_t i) { return reduced(size, i, c.op); });
    TRY_TEXT(check(comm, c, "allreduce", sum, [&](void *recv, auto **request) {
        return ringrt_comm_allreduce(send.data(), recv, c.count, c.dtype, c.op, comm, request);
    }));
    TRY_TEXT(check(comm, c, "allreduce in place", sum, [&](void *recv, auto **request) {
        if (!send.empty()) memcpy(recv, send.data(), send.size());
        return ringrt_comm_allreduce(recv, recv, c.count, c.dtype, c.op, comm, request);
    }));
    TRY_TEXT(
        check(comm, c, "reduce", rank == root ? sum : Bytes(), [&](void *recv, auto **request) {
            return ringrt_comm_reduce(send.data(), rank == root ? recv : nullptr, c.count, c.dtype,
                                      c.op, root, comm, request);
        }));
    const size_t all = c.count * size_t(size), first = c.count * size_t(rank);
    const Bytes blocks = made(all, c.dtype, [&](size_t i) { return value_of(rank, i, c.op); });
    const Bytes block =
        made(c.count, c.dtype, [&](size_t i) { return reduced(size, first + i, c.op); });
    TRY_TEXT(check(comm, c, "reduce_scatter", block, [&](void *recv, auto **request) {
        return ringrt_comm_reduce_scatter(blocks.data(), recv, c.count, c.dtype, c.op, comm,
                                          request);
    }));
    Bytes after = blocks;  // the other blocks stay
    std::copy(block.begin(), block.end(), after.begin() + ptrdiff_t(block.size()) * rank);
    return check(comm, c, "reduce_scatter in place", after, [&](void *place, auto **request) {
        if (!blocks.empty()) memcpy(place, blocks.data(), blocks.size());
        return ringrt_comm_reduce_scatter(
            place, static_cast<std::byte *>(place) + block.size() * size_t(rank), c.count, c.dtype,
            c.op, comm, request);
    });
}

std::string check_copies(ringrt_comm_t *comm, const Case &c) {
    const int size = ringrt_comm_size(comm), rank = ringrt_comm_rank(comm);
    const int root = static_cast<int>(c.count + 1) % size;
    auto of_rank = [&](int r) {
        return made(c.count, c.dtype, [&](size_t i) { return value_of(r, i, c.op) & 127; });
    };
    const Bytes send = of_rank(rank), of_root = of_rank(root);
    Bytes all;
    for (int r = 0; r < size; ++r) {
        const Bytes each = of_rank(r);
        all.insert(all.end(), each.begin(), each.end());
    }
    TRY_TEXT(check(comm, c, "allgather", all, [&](void *recv, auto **request) {
        return ringrt_comm_allgather(send.data(), recv, c.count, c.dtype, comm, request);
    }));
    TRY_TEXT(check(comm, c, "allgather in place", all, [&](void *recv, auto **request) {
        std::byte *own = static_cast<std::byte *>(recv) + send.size() * size_t(rank);
        if (!send.empty()) memcpy(own, send.data(), send.size());
        return ringrt_comm_allgather(own, recv, c.count, c.dtype, comm, request);
    }));
    TRY_TEXT(check(comm, c, "broadcast", of_root, [&](void *recv, auto **request) {
        return ringrt_comm_broadcast(rank == root ? send.data() : nullptr, recv, c.count, c.dtype,
                                     root, comm, request);
    }));
    return check(comm, c, "broadcast in place", of_root, [&](void *recv, auto **request) {
        if (!send.empty()) memcpy(recv, send.data(), send.size());
        return ringrt_comm_broadcast(recv, recv, c.count, c.dtype, root, comm, request);
    });
}

// The block that rank `from` has for rank `to`.
Bytes block_of(const Case &c, int from, int to) {
    return made(c.count, c.dtype,
                [&](size_t i) { return value_of(from, i + 5 * size_t(to), c.op) & 127; });
}

template <typename Block>
Bytes of_each_rank(int size, Block block) {
    Bytes all;
    for (int r = 0; r < size; ++r) {
        const Bytes each = block(r);
        all.insert(all.end(), each.begin(), each.end());
    }
    return all;
}

std::string check_blocks(ringrt_comm_t *comm, const Case &c) {
    const int size = ringrt_comm_size(comm), rank = ringrt_comm_rank(comm);
    const int root = static_cast<int>(c.count + 2) % size;
    const bool at_root = rank == root;
    const Bytes to_all = of_each_rank(size, [&](int to) { return block_of(c, rank, to); });
    const Bytes from_all = of_each_rank(size, [&](int from) { return block_of(c, from, rank); });
    const Bytes mine = block_of(c, rank, root), given = block_of(c, root, rank);
    auto own_of = [&](void *all) {
        return static_cast<std::byte *>(all) + mine.size() * size_t(rank);
    };
    TRY_TEXT(check(comm, c, "alltoall", from_all, [&](void *recv, auto **request) {
        return ringrt_comm_alltoall(to_all.data(), recv, c.count, c.dtype, comm, request);
    }));
    const Bytes gathered = at_root ? from_all : Bytes();
    TRY_TEXT(check(comm, c, "gather", gathered, [&](void *recv, auto **request) {
        return ringrt_comm_gather(mine.data(), at_root ? recv : nullptr, c.count, c.dtype, root,
                                  comm, request);
    }));
    TRY_TEXT(check(comm, c, "gather in place", gathered, [&](void *recv, auto **request) {
        if (at_root && !mine.empty()) memcpy(own_of(recv), mine.data(), mine.size());
        return ringrt_comm_gather(at_root ? own_of(recv) : mine.data(), recv, c.count, c.dtype,
                                  root, comm, request);
    }));
    TRY_TEXT(check(comm, c, "scatter", given, [&](void *recv, auto **request) {
        return ringrt_comm_scatter(at_root ? to_all.data() : nullptr, recv, c.count, c.dtype, root,
                                   comm, request);
    }));
    return check(comm, c, "scatter in place", at_root ? to_all : given,
                 [&](void *recv, auto **request) {
                     if (at_root && !to_all.empty()) memcpy(recv, to_all.data(), to_all.size());
                     return ringrt_comm_scatter(recv, at_root ? own_of(recv) : recv, c.count,
                                                c.dtype, root, comm, request);
                 });
}

std::string check_all(ringrt_comm_t *comm) {
    for (size_t count : {0, 1, 2, 3, 17, 1000, 4097, 100003})
        for (int dtype = RINGRT_FLOAT32; dtype <= RINGRT_UINT64; ++dtype)
            for (int op = RINGRT_SUM; op <= RINGRT_PROD; ++op) {
                const Case c{count, static_cast<ringrt_dtype_t>(dtype),
                             static_cast<ringrt_op_t>(op), (count + size_t(dtype + op)) % 2 == 0};
                if (is_foretold(c.dtype, c.op)) TRY_TEXT(check_reductions(comm, c));
                if (op == RINGRT_SUM) TRY_TEXT(check_copies(comm, c));
                if (op == RINGRT_SUM) TRY_TEXT(check_blocks(comm, c));
            }
    return expect(comm, ringrt_comm_barrier(comm, nullptr), RINGRT_OK);
}

TEST(every_operation_on_every_type_in_one_node) {
    for (int ranks : {1, 2, 3, 4}) on_comms({ranks, 1}, check_all);
}

TEST(every_operation_on_every_type_between_nodes) {
    for (Layout layout : {Layout{2, 2}, Layout{3, 2}, Layout{3, 3}, Layout{4, 2}})
        on_comms(layout, check_all);
}

// One sum of n ones, which must be `size`.
std::string sum_up(ringrt_comm_t *comm, size_t n, int size) {
    std::vector<float> x(n, 1);
    TRY_TEXT(expect(
        comm,
        ringrt_comm_allreduce(x.data(), x.data(), n, RINGRT_FLOAT32, RINGRT_SUM, comm, nullptr),
        RINGRT_OK));
    for (float each : x)
        if (each != static_cast<float>(size)) return "wrong sum";
    return "";
}

// Each operation reads what the previous one wrote. Every second one is waited for at once.
TEST(operations_run_in_the_order_of_their_calls) {
    on_comms({3, 1}, [](ringrt_comm_t *comm) -> std::string {
        constexpr size_t kSums = 12, kCount = 5000;
        std::vector<std::vector<int64_t>> x(kSums + 1, std::vector<int64_t>(kCount, 0));
        x[0].assign(kCount, 1);
        std::vector<ringrt_request_t *> requests;
        int64_t expected = 1;
        for (size_t i = 0; i < kSums; ++i) {
            ringrt_request_t *request = nullptr;
            const bool waits = i % 2 == 1;
            TRY_TEXT(
                expect(comm,
                       ringrt_comm_allreduce(x[i].data(), x[i + 1].data(), kCount, RINGRT_INT64,
                                             RINGRT_SUM, comm, waits ? nullptr : &request),
                       RINGRT_OK));
            if (!waits) requests.push_back(request);
            expected *= 3;
            if (waits && x[i + 1] != std::vector<int64_t>(kCount, expected))
                return "sum " + std::to_string(i) + ": got " + std::to_string(x[i + 1][0]);
        }
        for (ringrt_request_t *request : requests) {
            int done = 0;
            TRY_TEXT(expect(comm, ringrt_test(request, &done), RINGRT_OK));
            if (done != 1) return "an earlier one is not over";
            TRY_TEXT(expect(comm, ringrt_wait(request), RINGRT_OK));
        }
        return "";
    });
}

TEST(parts_have_the_ranks_of_their_color_by_key) {
    for (Layout layout : {Layout{4, 1}, Layout{4, 2}, Layout{4, 4}})
        on_comms(layout, [](ringrt_comm_t *comm) -> std::string {
            const int rank = ringrt_comm_rank(comm);
            ringrt_comm_t *part = nullptr;  // {3, 1} and {2, 0}
            TRY_TEXT(expect(comm, ringrt_comm_split(comm, rank % 2, -rank, &part), RINGRT_OK));
            if (ringrt_comm_size(part) != 2 || ringrt_comm_rank(part) != (rank < 2 ? 1 : 0))
                return "rank " + std::to_string(ringrt_comm_rank(part)) + " of the part";
            int32_t from = rank;
            TRY_TEXT(expect(part,
                            ringrt_comm_broadcast(&from, &from, 1, RINGRT_INT32, 0, part, nullptr),
                            RINGRT_OK));
            if (from != 2 + rank % 2) return "broadcast from " + std::to_string(from);
            TRY_TEXT(sum_up(comm, 1000, 4));  // the parent still works
            TRY_TEXT(sum_up(part, 70001, 2));
            return expect(part, ringrt_comm_destroy(part), RINGRT_OK);
        });
}

TEST(a_rank_without_a_color_has_no_part_and_a_part_may_have_one_rank) {
    on_comms({3, 1}, [](ringrt_comm_t *comm) -> std::string {
        const int rank = ringrt_comm_rank(comm);
        ringrt_comm_t *part = comm;
        const int color = rank == 1 ? RINGRT_COMM_NO_COLOR : rank;
        TRY_TEXT(expect(comm, ringrt_comm_split(comm, color, 0, &part), RINGRT_OK));
        if (rank == 1) return part == nullptr ? "" : "a part without a color";
        TRY_TEXT(sum_up(part, 10, 1));
        return expect(part, ringrt_comm_destroy(part), RINGRT_OK);
    });
}

TEST(two_communicators_are_used_from_two_threads) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}})
        on_comms(layout, [](ringrt_comm_t *comm) -> std::string {
            ringrt_comm_t *other = nullptr;
            TRY_TEXT(expect(comm, ringrt_comm_split(comm, 0, 0, &other), RINGRT_OK));
            std::string wrong;
            std::thread thread([&] {
                for (int i = 0; i < 200 && wrong.empty(); ++i)
                    wrong = sum_up(other, static_cast<size_t>(i) * 37, 2);
            });
            std::string here;
            for (int i = 200; i > 0 && here.empty(); --i)
                here = sum_up(comm, static_cast<size_t>(i) * 41, 2);
            thread.join();
            if (!here.empty() || !wrong.empty()) return here + wrong;
            return expect(other, ringrt_comm_destroy(other), RINGRT_OK);
        });
}

// By a file, by an address, and by srun's variables; two communicators at the same time.
void meet(const std::function<void(ringrt_comm_config_t &, int rank)> &change) {
    Ranks ranks(2, [&](int rank) {
        ringrt_comm_config_t config = config_of({2, 1}, rank);
        change(config, rank);
        ringrt_comm_t *comm = nullptr;
        std::string wrong = expect(nullptr, ringrt_comm_create(&comm, &config), RINGRT_OK);
        if (wrong.empty()) wrong = sum_up(comm, 100, 2);
        if (wrong.empty()) wrong = expect(nullptr, ringrt_comm_destroy(comm), RINGRT_OK);
        if (!wrong.empty()) fprintf(stderr, "rank %d: %s\n", rank, wrong.c_str());
        return wrong.empty() ? 0 : 1;
    });
    for (int status : ranks.wait(50 * kTimeoutScale)) ck_assert_int_eq(status, 0);
}

TEST(ranks_meet_by_a_file_an_address_or_the_environment) {
    TemporaryDirectory directory;
    const std::string file = directory.path + "/meet";
    meet([&](ringrt_comm_config_t &config, int) { config.rendezvous = file.c_str(); });
    setenv("RINGRT_SECRET", "00112233445566778899aabbccddeeff", 1);
    const std::string address = "tcp:127.0.0.1:" + std::to_string(20000 + getpid() % 20000);
    meet([&](ringrt_comm_config_t &config, int) { config.rendezvous = address.c_str(); });
    ck_assert_int_eq(chdir(directory.path.c_str()), 0);
    meet([&](ringrt_comm_config_t &config, int rank) {
        config.size = 0;
        setenv("SLURM_JOB_ID", "77", 1);
        setenv("SLURM_STEP_ID", "0", 1);
        setenv("SLURM_STEP_NUM_TASKS", "2", 1);
        setenv("SLURM_PROCID", rank == 0 ? "0" : "1", 1);
    });
    ck_assert(std::filesystem::is_empty(directory.path));
}

TEST(memory_of_the_node_is_allocated_and_freed) {
    on_comms({2, 1}, [](ringrt_comm_t *comm) -> std::string {
        void *memory = nullptr;
        constexpr size_t kCount = 100000;
        TRY_TEXT(expect(comm, ringrt_comm_mem_alloc(comm, kCount * 4, &memory), RINGRT_OK));
        auto *x = static_cast<float *>(memory);
        for (size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i % 1000);
        TRY_TEXT(expect(
            comm, ringrt_comm_allreduce(x, x, kCount, RINGRT_FLOAT32, RINGRT_SUM, comm, nullptr),
            RINGRT_OK));
        for (size_t i = 0; i < kCount; ++i)
            if (x[i] != 2 * static_cast<float>(i % 1000)) return "wrong sum";
        return expect(comm, ringrt_comm_mem_free(comm, memory), RINGRT_OK);
    });
}

}  // namespace

int main() { return run_all("comm"); }
