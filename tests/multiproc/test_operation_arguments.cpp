// SPDX-License-Identifier: BSD-3-Clause
// What every operation of ringrt_comm.h and ringrt.h answers to a count of 0, NULL, buffers that
// overlap, an odd address, sizes beyond any memory, and a type that does not exist. Two ranks make
// the same calls.
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "libringrt/ringrt.h"
#include "tests/multiproc/comm_ranks.h"

using namespace ringrt::test;

namespace {

constexpr int kRanks = 2;
constexpr size_t kCount = 5;  // of a block
constexpr auto kType = RINGRT_FLOAT32;

struct Buffers {
    const void *send;
    void *recv;
    size_t count;
    ringrt_dtype_t dtype;
};

struct Operation {
    std::string name;
    size_t send_blocks, recv_blocks;  // at this rank; 0: the buffer is not used
    int in_place;                     // block of the larger buffer at which the other is; -1: none
    std::function<ringrt_status_t(const Buffers &)> call;
};

std::vector<Operation> operations_of(ringrt_comm_t *comm, int rank) {
    const size_t at_root = rank == 0 ? 1 : 0;
    auto made = [&](const char *name, size_t sent, size_t received, int in_place, auto call) {
        return Operation{name, sent, received, in_place, std::move(call)};
    };
    return {
        made("allreduce", 1, 1, 0,
             [=](const Buffers &b) {
                 return ringrt_comm_allreduce(b.send, b.recv, b.count, b.dtype, RINGRT_SUM, comm,
                                              nullptr);
             }),
        made("reduce", 1, at_root, 0,
             [=](const Buffers &b) {
                 return ringrt_comm_reduce(b.send, b.recv, b.count, b.dtype, RINGRT_SUM, 0, comm,
                                           nullptr);
             }),
        made("reduce_scatter", kRanks, 1, rank,
             [=](const Buffers &b) {
                 return ringrt_comm_reduce_scatter(b.send, b.recv, b.count, b.dtype, RINGRT_SUM,
                                                   comm, nullptr);
             }),
        made("allgather", 1, kRanks, rank,
             [=](const Buffers &b) {
                 return ringrt_comm_allgather(b.send, b.recv, b.count, b.dtype, comm, nullptr);
             }),
        made("broadcast", at_root, 1, 0,
             [=](const Buffers &b) {
                 return ringrt_comm_broadcast(b.send, b.recv, b.count, b.dtype, 0, comm, nullptr);
             }),
        made("alltoall", kRanks, kRanks, -1,
             [=](const Buffers &b) {
                 return ringrt_comm_alltoall(b.send, b.recv, b.count, b.dtype, comm, nullptr);
             }),
        made("gather", 1, kRanks * at_root, 0,
             [=](const Buffers &b) {
                 return ringrt_comm_gather(b.send, b.recv, b.count, b.dtype, 0, comm, nullptr);
             }),
        made("scatter", kRanks * at_root, 1, 0,
             [=](const Buffers &b) {
                 return ringrt_comm_scatter(b.send, b.recv, b.count, b.dtype, 0, comm, nullptr);
             }),
    };
}

std::vector<Operation> operations_of(ringrt_t *rt, int rank) {
    return {
        {"ringrt_allreduce", 1, 1, 0,
         [=](const Buffers &b) {
             return ringrt_allreduce(b.send, b.recv, b.count, b.dtype, RINGRT_SUM, rt);
         }},
        {"ringrt_allreduce_start", 1, 1, 0,
         [=](const Buffers &b) {
             ringrt_request_t *request = nullptr;
             const ringrt_status_t status = ringrt_allreduce_start(b.send, b.recv, b.count, b.dtype,
                                                                   RINGRT_SUM, 0, rt, &request);
             return status == RINGRT_OK ? ringrt_wait(request) : status;
         }},
        {"ringrt_reduce_scatter", kRanks, 1, rank,
         [=](const Buffers &b) {
             return ringrt_reduce_scatter(b.send, b.recv, b.count, b.dtype, RINGRT_SUM, rt);
         }},
        {"ringrt_allgather", 1, kRanks, rank,
         [=](const Buffers &b) { return ringrt_allgather(b.send, b.recv, b.count, b.dtype, rt); }},
        {"ringrt_broadcast", rank == 0 ? 1u : 0u, 1, 0,
         [=](const Buffers &b) {
             return ringrt_broadcast(b.send, b.recv, b.count, b.dtype, 0, rt);
         }},
    };
}

class Checks {
  public:
    explicit Checks(const Operation &operation) : op_(operation) {}

    std::string all() {
        TRY_TEXT(accepted("count 0", {nullptr, nullptr, 0, kType}));
        TRY_TEXT(accepted("apart", {send_, recv_, kCount, kType}));
        TRY_TEXT(accepted("at odd addresses", {send_ + 1, recv_ + 3, kCount, kType}));
        TRY_TEXT(in_place());
        TRY_TEXT(refused("send NULL", {nullptr, recv_, kCount, kType}, op_.send_blocks > 0));
        TRY_TEXT(refused("recv NULL", {send_, nullptr, kCount, kType}, op_.recv_blocks > 0));
        const bool both = op_.send_blocks > 0 && op_.recv_blocks > 0;
        TRY_TEXT(refused("overlap", {send_, send_ + 4, kCount, kType}, both));
        TRY_TEXT(refused("overlap by a byte",
                         {send_, send_ - bytes(op_.recv_blocks) + 1, kCount, kType}, both));
        TRY_TEXT(refused("no such type", {send_, recv_, kCount, ringrt_dtype_t(RINGRT_UINT64 + 1)},
                         true));
        TRY_TEXT(refused("an element too large", {send_, recv_, SIZE_MAX / 4 + 2, kType}, true));
        const bool blocks = op_.send_blocks == kRanks || op_.recv_blocks == kRanks;
        TRY_TEXT(refused("blocks too large", {send_, recv_, SIZE_MAX / 16 + 2, kType}, blocks));
        return accepted("after refusals", {send_, recv_, kCount, kType});
    }

  private:
    static size_t bytes(size_t blocks) { return blocks * kCount * sizeof(float); }

    std::string in_place() {
        std::byte *all = recv_;
        std::byte *block = all + bytes(op_.in_place < 0 ? 0 : size_t(op_.in_place));
        const Buffers buffers{op_.send_blocks > op_.recv_blocks ? all : block,
                              op_.send_blocks > op_.recv_blocks ? block : all, kCount, kType};
        if (op_.in_place < 0) return refused("in place", buffers, true);
        return accepted("in place", buffers);
    }
    [[nodiscard]] std::string accepted(const char *what, const Buffers &buffers) const {
        return answer(what, op_.call(buffers), RINGRT_OK);
    }
    // Not called if it is valid at this rank: the other rank refuses it, and does not take part.
    [[nodiscard]] std::string refused(const char *what, const Buffers &buffers, bool here) const {
        return here ? answer(what, op_.call(buffers), RINGRT_INVALID_ARGUMENT) : "";
    }
    [[nodiscard]] std::string answer(const char *what, ringrt_status_t got,
                                     ringrt_status_t right) const {
        if (got == right) return "";
        return op_.name + ", " + what + ": " + ringrt_status_string(got);
    }

    const Operation &op_;
    std::vector<std::byte> room_ = std::vector<std::byte>(4096);
    std::byte *send_ = room_.data() + 1024, *recv_ = room_.data() + 2048;
};

std::string check_all(const std::vector<Operation> &operations) {
    for (const Operation &each : operations) TRY_TEXT(Checks(each).all());
    return "";
}

TEST(every_operation_of_a_communicator_answers_its_arguments) {
    for (int nodes : {1, 2})
        on_comms({kRanks, nodes}, [](ringrt_comm_t *comm) {
            return check_all(operations_of(comm, ringrt_comm_rank(comm)));
        });
}

TEST(a_message_answers_its_arguments) {
    on_comms({kRanks, 1}, [](ringrt_comm_t *comm) -> std::string {
        const int peer = 1 - ringrt_comm_rank(comm);
        float x[kCount] = {};
        auto pass = [&](void *data, size_t count, ringrt_dtype_t dtype) {
            return peer == 1 ? ringrt_comm_send(data, count, dtype, peer, 0, comm, nullptr)
                             : ringrt_comm_recv(data, count, dtype, peer, 0, comm, nullptr);
        };
        TRY_TEXT(expect(comm, pass(nullptr, 0, kType), RINGRT_OK));
        TRY_TEXT(
            expect(comm, pass(nullptr, 1, kType), RINGRT_INVALID_ARGUMENT, "send or recv is NULL"));
        TRY_TEXT(expect(comm, pass(x, SIZE_MAX / 4 + 2, kType), RINGRT_INVALID_ARGUMENT,
                        "a count is larger than any memory"));
        TRY_TEXT(expect(comm, pass(x, 1, ringrt_dtype_t(RINGRT_UINT64 + 1)),
                        RINGRT_INVALID_ARGUMENT, "no such dtype"));
        return expect(comm, pass(reinterpret_cast<char *>(x) + 1, kCount - 1, kType), RINGRT_OK);
    });
}

TEST(every_collective_of_a_trainings_handle_answers_its_arguments) {
    TemporaryDirectory directory;
    Ranks ranks(kRanks, [&](int rank) {
        for (const char *name : {"SLURM_JOB_ID", "SLURM_STEP_ID"}) unsetenv(name);
        ringrt_config_t config = RINGRT_CONFIG_INIT;
        config.rank = rank, config.size = kRanks;
        config.checkpoint_dir = directory.path.c_str();
        config.timeout_ms = config.start_timeout_ms = kTestTimeout_ms;
        ringrt_t *rt = nullptr;
        if (ringrt_init(&rt, &config) != RINGRT_OK) return 1;
        const std::string wrong = check_all(operations_of(rt, rank));
        if (!wrong.empty()) fprintf(stderr, "rank %d: %s\n", rank, wrong.c_str());
        const ringrt_status_t over = ringrt_finalize(rt);
        return wrong.empty() && over == RINGRT_OK ? 0 : 2;
    });
    for (int status : ranks.wait(50 * kTimeoutScale)) ck_assert_int_eq(status, 0);
}

}  // namespace

int main() { return run_all("operation_arguments"); }
