// SPDX-License-Identifier: BSD-3-Clause
// Rows of a matrix move between the ranks while extensions join, leave and die. The weights equal
// those of one rank alone, bit for bit.
#include <random>

#include "tests/support/live_rows.h"
#include "tests/support/live_test.h"
#include "tests/support/message_fault.h"

using namespace ringrt::test;

namespace {

using Training = LiveTest<LiveRows>;

}  // namespace

TEST(at_sizes_1_to_5) { Training().join_and_leave_at_sizes_1_to_5(); }

TEST(between_nodes_as_well_and_to_the_end) { Training().end_together_between_nodes(); }

TEST(the_first_extension_leaves_and_the_second_joins_again) { Training().leave_below_another(); }

// The base returns to its newest checkpoint in place, and does the steps since then again.
TEST(an_extension_is_killed_at_random_moments) {
    setenv("RINGRT_SAVE_INTERVAL_S", "1", 1);
    Training training;
    training.grow(0, 2, 2);
    training.lose_extensions(16, 3, 7);
    training.grow(1, 3, 5);
    training.expect_trained(2);
    unsetenv("RINGRT_SAVE_INTERVAL_S");
}

// Some ranks see the order to leave, while one of those that leave dies.
TEST(an_extension_is_killed_while_it_leaves) {
    Training training;
    std::mt19937 random(11);
    training.grow(0, 2, 2);
    for (int i = 0; i < 12; ++i) {
        training.grow(1, 2, 4);
        training.job(1).signal(0, SIGURG);
        usleep(static_cast<useconds_t>(random() % 3000));
        training.job(1).signal(1, SIGKILL);
        training.forget(1);
        ck_assert(training.await_size(2));
    }
    training.expect_trained(2);
}

// Extension 2 survives the death of extension 1, whatever it held: it joins again.
TEST(the_lower_one_of_two_extensions_is_killed) {
    Training training;
    training.grow(0, 2, 2);
    training.grow(1, 1, 3);
    training.grow(2, 2, 5);
    training.forget(1);
    ck_assert(training.await_size(4));
    ck_assert_int_gt(training.recoveries(), 0);
    training.leave(2, 2);
    training.expect_trained(2);
}

TEST(an_extension_that_cannot_place_rows_does_not_join) {
    Training training;
    training.fails_job = 1;
    training.grow(0, 2, 2);
    training.expect_refused(1, 2, RINGRT_SYSTEM_ERROR);
    ck_assert_int_eq(training.size(), 2);
    training.grow(2, 1, 3);
    training.expect_trained(2);
    ck_assert_int_eq(training.recoveries(), 0);  // it was called off, not lost
}

TEST(nothing_joins_a_base_that_cannot_place_rows) {
    Training training;
    training.fails_job = 0;
    training.grow(0, 2, 2);
    training.expect_refused(1, 1, RINGRT_MISMATCH);
    ck_assert_int_eq(training.size(), 2);
    training.expect_trained(2);
    ck_assert_int_eq(training.recoveries(), 0);
}

// Its rows are not handed over, so all return to the checkpoint.
TEST(a_base_that_cannot_place_rows_when_ranks_leave_loads_them) {
    Training training;
    training.fails_leaving = true;
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    training.leave(1, 2);
    ck_assert_int_gt(training.recoveries(), 0);
    training.grow(2, 1, 3);
    training.leave(2, 2);
    training.expect_trained(2);
}

TEST(rows_that_overlap_call_the_join_off) {
    Training training;
    training.overlaps_job = 1;
    training.grow(0, 2, 2);
    training.expect_refused(1, 1, RINGRT_MISMATCH);
    training.expect_trained(2);
    ck_assert_int_eq(training.recoveries(), 0);
}

// Some ranks see its votes and end, others see a loss and restore. The training is over for all.
TEST(an_extension_dies_in_the_last_ballot) {
    static std::atomic<uint64_t> *const last_step =
        new (mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
            std::atomic<uint64_t>();
    int restored = 0;
    for (int messages = 1; messages <= 4; ++messages) {
        Training training;
        training.nodes_apart = true, training.base_nodes = 2;
        *last_step = 0;
        const auto sum = training.reduce;
        training.reduce = [=](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
            const ringrt_status_t status = sum(rt, g, step);
            const bool dies = ringrt_rank(rt) == 2 && step + 1 == *last_step;
            messages_left = dies ? messages : 0;
            if (dies) usleep(100000);  // the others wait for its vote only
            return status;
        };
        training.grow(0, 2, 2);
        training.grow(1, 1, 3);
        *last_step = training.stop();
        const std::vector<int> ended = training.job(0).wait(30 * kTimeoutScale);
        const std::vector<float> right = trained_alone(training.floats, *last_step, true);
        for (int rank = 0; rank < 2; ++rank) {
            ck_assert_int_eq(ended[size_t(rank)], kTrained);
            ck_assert_uint_eq(training.step(0, rank), *last_step);
            ck_assert(training.weights(0, rank) == right);
        }
        restored += training.recoveries() % 2;  // one of the two
    }
    ck_assert_int_gt(restored, 0);
}

// Then the job fails, and starts from what there is, as without live_resize.
TEST(a_loss_without_a_checkpoint_ends_the_base) {
    Training training;
    training.grow(0, 2, 2);
    training.grow(1, 1, 3);
    training.remove_checkpoints();
    training.forget(1);
    for (int status : training.job(0).wait(20 * kTimeoutScale))
        ck_assert_int_eq(status, kFailed + RINGRT_PEER_LOST);
}

int main() { return run_all("live_rows"); }
