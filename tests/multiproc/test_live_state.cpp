// SPDX-License-Identifier: BSD-3-Clause
// Extensions of a job whose state is not in registered buffers but packed by the program, with
// another size in each step. No step is lost, and the weights equal those of one rank alone bit for
// bit.
#include "tests/support/live_test.h"

using namespace ringrt::test;

namespace {

struct PackedTraining : LiveTest<> {
    PackedTraining() { packed = true; }
};

void join_and_leave(PackedTraining &training) {
    training.grow(0, 2, 2);
    training.grow(1, 1, 3);
    training.grow(2, 2, 5);
    training.leave(2, 3);
    training.leave(1, 2);
    training.expect_trained(2);
}

}  // namespace

TEST(extensions_join_and_leave) {
    PackedTraining training;
    join_and_leave(training);
}

TEST(between_nodes_as_well) {
    PackedTraining training;
    training.floats = 3001;
    training.nodes_apart = true;
    training.grow(0, 1, 1);
    training.grow(1, 2, 3);
    training.leave(1, 1);
    training.expect_trained(1);
}

// Some of the base's ranks have finished a step that others have not.
TEST(losses_cost_no_step) {
    PackedTraining training;
    training.grow(0, 3, 3);
    for (int i = 0; i < 10; ++i) {
        training.grow(1, 1, 4);
        usleep(static_cast<useconds_t>(i) * 137);
        kill(training.job(1).pid(0), SIGKILL);
        training.forget(1);
        ck_assert(training.await_size(3));
    }
    ck_assert_int_ge(training.recoveries(), 10);
    training.expect_trained(3);
}

TEST(a_state_that_does_not_fit_is_called_off) {
    PackedTraining training;
    training.broken = 1;
    training.grow(0, 2, 2);
    for (int status : training.start(1, 2).wait(20 * kTimeoutScale))
        ck_assert_int_ge(status, kFailed);
    ck_assert(training.await_size(2));
    ck_assert_int_eq(training.recoveries(), 0);
    training.grow(2, 1, 3);
    training.expect_trained(2);
}

// For longer than an operation's timeout, when the base has sent it the state.
TEST(a_joiner_is_stopped_in_the_transfer) {
    for (const bool nodes_apart : {false, true}) {
        PackedTraining training;
        training.nodes_apart = nodes_apart;
        training.timeout_ms = uint32_t(1000 * kTimeoutScale);
        training.stopping = 1;
        training.grow(0, 2, 2);
        training.start(1, 2);
        int status = 0;
        ck_assert_int_gt(waitpid(training.job(1).pid(0), &status, WUNTRACED), 0);
        ck_assert(WIFSTOPPED(status));
        ck_assert(training.await_steps(20));
        ck_assert_int_eq(training.size(), 2);
        training.job(1).signal(0, SIGCONT);
        ck_assert(training.await_size(4));
        training.leave(1, 2);
        ck_assert_int_eq(training.recoveries(), 0);
        training.expect_trained(2);
    }
}

TEST(registered_buffers_and_a_packed_state_are_not_one_training) {
    PackedTraining training;
    training.grow(0, 1, 1);
    training.packed = false;
    training.expect_refused(1, 1, RINGRT_INVALID_ARGUMENT);
    training.packed = true;
    training.expect_trained(1);
}

int main() { return run_all("live_state"); }
