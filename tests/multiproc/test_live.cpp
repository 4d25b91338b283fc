// SPDX-License-Identifier: BSD-3-Clause
// Extensions join, leave and die while a base job trains. No step is lost, and the weights equal
// those of one rank alone bit for bit.
#include "tests/support/live_test.h"
#include "tests/support/message_fault.h"

using namespace ringrt::test;

namespace {

using Training = LiveTest<>;

// base → base + extension → base
void grow_and_shrink(Training &training, int base, int extension) {
    training.grow(0, base, base);
    training.grow(1, extension, base + extension);
    training.leave(1, base);
    training.expect_trained(base);
    ck_assert_int_eq(training.recoveries(), 0);
}

}  // namespace

TEST(two_ranks_grow_to_four_and_shrink_in_tree_order) {
    Training training;
    training.exact = false;
    grow_and_shrink(training, 2, 2);
}

TEST(one_rank_grows_to_three_and_shrinks) {
    Training training;
    grow_and_shrink(training, 1, 2);
}

TEST(between_nodes_as_well) {
    Training training;
    training.nodes_apart = true;
    training.floats = 3001;
    grow_and_shrink(training, 2, 1);
}

// A rank that stays, or one that leaves, sends one of its last messages on the level that is left
// when the others have already left that level. No rank takes that for a loss.
TEST(a_rank_is_late_in_its_last_ballot) {
    static std::atomic<int> *const late = shared_number();
    for (const int rank : {1, 2}) {
        Training training;
        training.nodes_apart = true, training.base_nodes = 2;
        const auto sum = training.reduce;
        training.reduce = [=](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
            is_only_late = true;
            messages_left = ringrt_rank(rt) == rank ? late->load() : 0;
            return sum(rt, g, step);
        };
        *late = 0;
        training.grow(0, 2, 2);
        for (int messages = 1; messages <= 8; ++messages) {
            *late = 0;
            training.grow(1, 1, 3);
            *late = messages;
            ck_assert(training.await_steps(1));
            training.leave(1, 2);
            training.forget(1);
        }
        *late = 0;
        training.expect_trained(2);
        ck_assert_int_eq(training.recoveries(), 0);
    }
}

TEST(the_extension_trains_to_the_end) {
    Training training;
    training.grow(0, 2, 2);
    training.grow(1, 3, 5);
    training.expect_trained(2);
    for (int status : training.job(1).wait(20 * kTimeoutScale)) ck_assert_int_eq(status, kTrained);
    for (int rank = 0; rank < 3; ++rank)
        ck_assert(training.weights(1, rank) == training.weights(0, 0));
}

TEST(two_extensions_and_the_last_one_leaves_first) {
    Training training;
    training.grow(0, 1, 1);
    training.grow(1, 1, 2);
    training.grow(2, 2, 4);
    training.expect_left(2, SIGURG);
    ck_assert(training.await_size(2));
    training.expect_left(1, SIGTERM);
    ck_assert(training.await_size(1));
    training.expect_trained(1);
    ck_assert_int_eq(training.recoveries(), 0);
}

TEST(the_first_one_leaves_and_the_second_joins_again) {
    Training training;
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    training.grow(2, 1, 5);
    training.expect_left(1, SIGTERM);
    ck_assert(training.await_size(3));
    training.expect_left(2, SIGURG);
    training.expect_trained(2);
}

TEST(an_extension_dies_at_many_moments_of_joining) {
    Training training;
    training.grow(0, 2, 2);
    for (int i = 0; i < 24; ++i) {
        Ranks &extension = training.start(1, 2);
        if (i >= 20) ck_assert(LiveTraining::await([&] { return training.size() == 4; }));
        usleep(static_cast<useconds_t>(i < 20 ? 12 * i : i - 20) * 1000);
        kill(extension.pid(i % 2), SIGKILL);
        usleep(20000);
        training.forget(1);  // as srun would
        ck_assert(training.await_size(2));
    }
    training.grow(1, 2, 4);
    training.expect_trained(2);
}

TEST(a_lost_extension_costs_no_step_and_the_other_one_rejoins) {
    Training training;
    training.lose_one_of_two();
}

TEST(an_extension_with_other_buffers_is_refused) {
    Training training;
    training.refuse_another_layout();
}

TEST(an_extension_ends_with_its_base) {
    Training training;
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    training.forget(0);  // killed
    for (int status : training.job(1).wait(20 * kTimeoutScale))
        ck_assert_int_eq(status, kFailed + RINGRT_PEER_LOST);
}

TEST(an_extension_without_a_base_ends) {
    Training training;
    training.start_timeout_ms = 300;
    for (int status : training.start(1, 2).wait(20 * kTimeoutScale))
        ck_assert_int_eq(status, kFailed + RINGRT_PEER_LOST);
}

// Longer than an operation's timeout. To the base it is lost; it continues with the others' state.
TEST(a_rank_of_an_extension_is_stopped_for_a_while) {
    Training training;
    training.timeout_ms = uint32_t(2000 * kTimeoutScale);
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    kill(training.job(1).pid(1), SIGSTOP);
    ck_assert(training.await_size(2));
    ck_assert(training.await_steps(20));
    kill(training.job(1).pid(1), SIGCONT);
    ck_assert(training.await_size(4));
    training.leave(1, 2);
    training.expect_trained(2);
}

// Also between the meeting and the switch.
TEST(a_rank_is_stopped_while_it_joins) {
    std::mt19937 random(3);
    Training training;
    training.timeout_ms = uint32_t(2000 * kTimeoutScale);
    training.nodes_apart = true;
    training.grow(0, 2, 2);
    for (int i = 0; i < 16; ++i) {
        training.start(1, 2);
        usleep(static_cast<useconds_t>(random() % 60000));
        kill(training.job(1).pid(i % 2), SIGSTOP);
        ck_assert(training.await_steps(20));
        kill(training.job(1).pid(i % 2), SIGCONT);
        ck_assert(training.await_size(4));
        training.leave(1, 2);
    }
    training.expect_trained(2);
}

int main() { return run_all("live"); }
