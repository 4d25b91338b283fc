// SPDX-License-Identifier: BSD-3-Clause
// Failures of communicators through the C API: no rank waits forever, and a line gives the reason.
#include <vector>

#include "tests/multiproc/comm_ranks.h"

using namespace ringrt::test;

namespace {

ringrt_status_t sum(ringrt_comm_t *comm, size_t count, ringrt_request_t **request = nullptr) {
    static std::vector<float> x(100000, 1);
    return ringrt_comm_allreduce(x.data(), x.data(), count, RINGRT_FLOAT32, RINGRT_SUM, comm,
                                 request);
}

// Every later call returns the first call's error.
std::string expect_spent(ringrt_comm_t *comm, ringrt_status_t expected) {
    ringrt_status_t error = RINGRT_OK;
    TRY_TEXT(expect(comm, ringrt_comm_async_error(comm, &error), RINGRT_OK));
    TRY_TEXT(expect(comm, error, expected));
    TRY_TEXT(expect(comm, ringrt_comm_barrier(comm, nullptr), expected));
    ringrt_comm_t *part = nullptr;
    return expect(comm, ringrt_comm_split(comm, 0, 0, &part), expected);
}

TEST(a_rank_that_dies_ends_the_others_operations) {
    for (Layout layout : {Layout{3, 1}, Layout{3, 3}})
        for (bool by_request : {false, true})
            on_comms(
                layout,
                [&](ringrt_comm_t *comm) -> std::string {
                    ringrt_status_t status = RINGRT_OK;
                    for (int i = 0; status == RINGRT_OK; ++i) {
                        if (ringrt_comm_rank(comm) == 1 && i == 3) _exit(0);
                        ringrt_request_t *request = nullptr;
                        status = sum(comm, 1000, by_request ? &request : nullptr);
                        if (by_request && status == RINGRT_OK) status = ringrt_wait(request);
                    }
                    TRY_TEXT(expect(comm, status, RINGRT_PEER_LOST, "rank 1"));
                    return expect_spent(comm, RINGRT_PEER_LOST);
                },
                1);
}

TEST(a_silent_rank_is_reported_after_the_timeout) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}})
        on_comms(
            layout,
            [](ringrt_comm_t *comm) -> std::string {
                TRY_TEXT(expect(comm, sum(comm, 10), RINGRT_OK));
                if (ringrt_comm_rank(comm) == 1) pause();
                TRY_TEXT(expect(comm, sum(comm, 10), RINGRT_TIMEOUT, "rank 1"));
                return expect_spent(comm, RINGRT_TIMEOUT);
            },
            1, 500);
}

TEST(an_abort_from_another_thread_ends_all) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}}) {
        int ready[2], aborted[2];
        ck_assert(pipe(ready) == 0 && pipe(aborted) == 0);
        on_comms(layout, [&](ringrt_comm_t *comm) -> std::string {
            if (ringrt_comm_rank(comm) == 1) {
                char byte = 0;
                if (write(ready[1], "", 1) != 1 || read(aborted[0], &byte, 1) != 1) return "pipes";
                TRY_TEXT(expect(comm, sum(comm, 10), RINGRT_PEER_LOST, "rank 0"));
                return expect_spent(comm, RINGRT_PEER_LOST);
            }
            char byte = 0;
            if (read(ready[0], &byte, 1) != 1) return "read";
            ringrt_request_t *requests[2] = {};
            for (auto &request : requests)
                TRY_TEXT(expect(comm, ringrt_comm_barrier(comm, &request), RINGRT_OK));
            std::thread other([&] { ringrt_comm_abort(comm); });
            for (auto *request : requests)
                TRY_TEXT(expect(nullptr, ringrt_wait(request), RINGRT_ABORTED));
            other.join();
            if (write(aborted[1], "", 1) != 1) return "write";
            TRY_TEXT(expect(comm, sum(comm, 1), RINGRT_ABORTED, "ringrt_comm_abort() was called"));
            return expect_spent(comm, RINGRT_ABORTED);
        });
    }
}

TEST(mismatching_calls_are_named) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}})
        on_comms(layout, [](ringrt_comm_t *comm) -> std::string {
            const auto count = static_cast<size_t>(3 + ringrt_comm_rank(comm));
            const ringrt_status_t status = sum(comm, count);
            if (status == RINGRT_PEER_LOST) return "";  // the other rank saw it first
            return expect(comm, status, RINGRT_MISMATCH, "allreduce of 3 float32 (sum)");
        });
}

TEST(destroy_ends_operations_in_progress) {
    on_comms(
        {2, 1},
        [](ringrt_comm_t *comm) -> std::string {
            ringrt_request_t *requests[3] = {};
            if (ringrt_comm_rank(comm) == 1) pause();
            for (auto &request : requests)
                TRY_TEXT(expect(comm, sum(comm, 9, &request), RINGRT_OK));
            TRY_TEXT(expect(nullptr, ringrt_comm_destroy(comm), RINGRT_OK));
            for (auto *request : requests)
                TRY_TEXT(expect(nullptr, ringrt_wait(request), RINGRT_ABORTED));
            _exit(0);
        },
        1);
}

TEST(a_failing_store_is_reported) {
    TemporaryDirectory directory;
    for (bool put_fails : {true, false}) {
        Ranks ranks(2, [&](int rank) {
            DirectoryStore store(directory.path);
            ringrt_comm_config_t config = config_of({2, 1}, rank);
            config.store = &store.callbacks;
            config.start_timeout_ms = 1000;
            if (put_fails && rank == 0)
                store.callbacks.put = [](void *, const char *, const char *) { return 5; };
            if (!put_fails && rank == 1)
                store.callbacks.get = [](void *, const char *, char *value, size_t, uint32_t) {
                    value[0] = 'x';
                    return 0;
                };
            ringrt_comm_t *comm = nullptr;
            const ringrt_status_t status = ringrt_comm_create(&comm, &config);
            std::string wrong;
            if (put_fails && rank == 0)
                wrong = expect(nullptr, status, RINGRT_SYSTEM_ERROR,
                               "config.store: its put failed with 5");
            else if (put_fails)
                wrong = expect(nullptr, status, RINGRT_SYSTEM_ERROR,
                               "config.store: its get failed with 7");
            else if (rank == 1)
                wrong = expect(nullptr, status, RINGRT_SYSTEM_ERROR,
                               "the store's value is not the one that rank 0 wrote");
            else
                wrong = expect(nullptr, status, RINGRT_TIMEOUT, "rank 1 of 2 did not connect");
            if (!wrong.empty()) fprintf(stderr, "rank %d: %s\n", rank, wrong.c_str());
            return wrong.empty() ? 0 : 1;
        });
        for (int status : ranks.wait(50 * kTimeoutScale)) ck_assert_int_eq(status, 0);
    }
}

TEST(a_forked_child_cannot_use_its_parents) {
    on_comms({2, 1}, [](ringrt_comm_t *comm) -> std::string {
        ringrt_request_t *request = nullptr;
        TRY_TEXT(expect(comm, sum(comm, 10, &request), RINGRT_OK));
        Ranks child(1, [&](int) {
            std::string wrong = expect(comm, sum(comm, 10), RINGRT_FORKED, "fork()ed");
            if (wrong.empty()) wrong = expect(comm, ringrt_wait(request), RINGRT_FORKED);
            if (wrong.empty()) wrong = expect(comm, ringrt_comm_abort(comm), RINGRT_FORKED);
            if (wrong.empty()) wrong = expect(comm, ringrt_comm_destroy(comm), RINGRT_FORKED);
            if (!wrong.empty()) fprintf(stderr, "child: %s\n", wrong.c_str());
            return wrong.empty() ? 0 : 1;
        });
        if (child.wait(10)[0] != 0) return "the child";
        TRY_TEXT(expect(comm, ringrt_wait(request), RINGRT_OK));
        return expect(comm, sum(comm, 10), RINGRT_OK);
    });
}

}  // namespace

int main() { return run_all("comm_failures"); }
