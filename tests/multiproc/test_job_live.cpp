// SPDX-License-Identifier: BSD-3-Clause
// A job handle that is resized in place (ringrt_job_resize()): ranks of other jobs join, leave and
// are killed. No step is lost, and the weights equal those of one rank alone bit for bit.
#include <random>

#include "tests/support/live_handles.h"
#include "tests/support/live_test.h"
#include "tests/support/scarce.h"

using namespace ringrt::test;

namespace {

using Training = LiveTest<LiveHandles>;

// One rank, then two, four, two and one.
void double_and_halve(Training &training) {
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

}  // namespace

TEST(one_rank_grows_to_two_and_four_and_shrinks) {
    Training training;
    double_and_halve(training);
}

TEST(without_a_checkpoint_handle_as_well) {
    Training training;
    training.has_checkpoint = false;
    double_and_halve(training);
}

TEST(between_nodes_as_well) {
    Training training;
    training.nodes_apart = true;
    training.floats = 3001;
    double_and_halve(training);
}

TEST(one_rank_grows_to_three_and_the_first_extension_leaves) {
    for (const bool has_checkpoint : {true, false}) {
        Training training;
        training.has_checkpoint = has_checkpoint;
        training.grow(0, 1, 1);
        training.grow(1, 1, 2);
        training.grow(2, 1, 3);
        training.expect_left(1, SIGURG);
        ck_assert(training.await_size(2));  // the second joins again
        training.expect_left(2, SIGURG);
        training.expect_trained(1);
    }
}

// The communicators of the ranks that stay have formed before the join: at a leave, when training
// waits, nothing is opened.
TEST(ranks_leave_when_no_file_can_be_opened) {
    for (const bool has_checkpoint : {true, false}) {
        Training training;
        training.has_checkpoint = has_checkpoint;
        training.loses = [](int job, int, uint64_t, int size) {
            if (job == 0) make_scarce(size == 4 ? descriptors : nothing);
            return false;
        };
        training.grow(0, 2, 2);
        training.grow(1, 2, 4);
        training.leave(1, 2);
        ck_assert_int_eq(training.recoveries(), 0);
        training.expect_trained(2);
    }
}

// The program's own state is in blobs. Sizes that no other divides, and saves between the resizes.
TEST(joiners_get_the_blobs) {
    Training training;
    training.in_blobs = true;
    training.save_every = 40, training.save_for = 20;
    training.grow(0, 2, 2);
    training.grow(1, 1, 3);
    training.grow(2, 2, 5);
    training.expect_left(2, SIGURG);
    ck_assert(training.await_size(3));
    training.leave(1, 2);
    training.grow(1, 3, 5);
    training.expect_left(1, SIGURG);
    training.expect_trained(2);
    ck_assert_int_eq(training.recoveries(), 0);
}

// Killed while they start, join and read the blobs.
TEST(joiners_that_get_blobs_are_killed) {
    Training training;
    training.in_blobs = true;
    training.nodes_apart = true;
    training.grow(0, 2, 2);
    training.lose_extensions(12, 3, 19);
    training.grow(1, 2, 4);
    training.expect_trained(2);
}

// A base that has restored a checkpoint and saved none since: its blobs are older ones.
TEST(blobs_of_a_restored_checkpoint_are_not_those_of_the_present) {
    Training training;
    training.in_blobs = true;
    training.first = [](ringrt_checkpoint_t *checkpoint, bool is_extension) {
        uint64_t step = 0;
        LiveBlobs blobs(checkpoint);
        if (is_extension) return;
        blobs.set(0, {});
        if (ringrt_checkpoint_save(checkpoint, 0) != RINGRT_OK ||
            ringrt_checkpoint_restore(checkpoint, &step) != RINGRT_OK)
            _exit(248);
    };
    training.grow(0, 2, 2);
    training.grow(1, 1, 3);
    training.leave(1, 2);
    training.expect_trained(2);
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

TEST(extensions_are_killed_at_random_moments) {
    for (const bool has_checkpoint : {true, false}) {
        Training training;
        training.has_checkpoint = has_checkpoint;
        training.grow(0, 2, 2);
        training.lose_extensions(16, 3, has_checkpoint ? 3 : 4);
        training.grow(1, 2, 4);
        training.expect_trained(2);
    }
}

TEST(leavers_are_killed_at_random_moments) {
    std::mt19937 random(7);
    Training training;
    training.grow(0, 2, 2);
    for (int i = 0; i < 16; ++i) {
        const int ranks = 1 + i % 3;
        training.grow(1, ranks, 2 + ranks);
        training.job(1).signal(0, i % 2 == 0 ? SIGURG : SIGTERM);
        usleep(static_cast<useconds_t>(random() % 4000));
        training.job(1).signal(static_cast<int>(random() % unsigned(ranks)), SIGKILL);
        usleep(static_cast<useconds_t>(random() % 20000));
        training.forget(1);
        ck_assert(training.await_size(2));
    }
    training.expect_trained(2);
}

// Some ranks see the votes of the last step, others a loss.
TEST(an_extension_is_killed_in_the_last_steps) {
    std::mt19937 random(13);
    for (int i = 0; i < 12; ++i) {
        Training training;
        training.has_checkpoint = i % 2 == 0;
        training.grow(0, 2, 2);
        training.grow(1, 2, 4);
        const uint64_t last = training.stop();
        ck_assert(Training::await([&] { return training.step() + random() % 4 >= last; }));
        kill(training.job(1).pid(i % 3 == 0), SIGKILL);
        for (int status : training.job(0).wait(20 * kTimeoutScale))
            ck_assert_int_eq(status, kTrained);
        for (int rank = 0; rank < 2; ++rank)
            ck_assert(training.weights(0, rank) == trained_alone(training.floats, last, true));
    }
}

// One rank of the base is a step behind the other one, whose state it gets.
TEST(a_rank_that_is_behind_gets_the_newer_state) {
    for (const int kind : {0, 1, 2})
        for (const int behind : {0, 1}) {
            Training training;
            training.has_checkpoint = kind > 0;
            training.in_blobs = kind == 2;
            int times = 0;  // of each process
            training.loses = [&times, behind](int job, int rank, uint64_t, int size) {
                return job == 0 && rank == behind && size == 3 && ++times == 20;
            };
            training.grow(0, 2, 2);
            training.start(1, 1);
            ck_assert(Training::await([&] { return training.recoveries() > 0; }));
            ck_assert(training.await_steps(50));
            training.expect_trained(2);
        }
}

TEST(a_lost_extension_costs_no_step_and_the_other_one_rejoins) {
    Training training;
    training.lose_one_of_two();
}

// Extensions join and leave between saves, or end them; those that are killed give them up.
TEST(saves_in_the_background_go_on) {
    std::mt19937 random(11);
    Training training;
    training.save_every = 40, training.save_for = 20;
    training.ballast = 1 << 16;
    training.grow(0, 2, 2);
    for (int i = 0; i < 8; ++i) {
        training.grow(1, 1 + i % 2, 3 + i % 2);
        usleep(static_cast<useconds_t>(random() % 60000));
        if (i % 4 == 3) {
            kill(training.job(1).pid(0), SIGKILL);
            training.forget(1);
            ck_assert(training.await_size(2));
        } else {
            training.leave(1, 2);
        }
    }
    training.expect_trained(2);
}

// A base that is to be requeued saves when its extensions have left.
TEST(extensions_leave_before_a_requeue) {
    setenv("RINGRT_LEAVE_TIMEOUT_S", "1", 1);
    Training training;
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    training.job(0).signal(1, SIGURG);
    for (int status : training.job(1).wait(20 * kTimeoutScale)) ck_assert_int_eq(status, kHasLeft);
    ck_assert(training.await_size(2));
    ck_assert(Training::await([&] {
        for (const auto &entry : std::filesystem::directory_iterator(training.checkpoints()))
            if (entry.path().filename().string().starts_with("step-")) return true;
        return false;
    }));
    training.expect_trained(2);  // Slurm refused the requeue
}

TEST(an_extension_with_other_tensors_is_refused) {
    Training training;
    training.refuse_another_layout();
}

// It would claim the directory for itself, and the base could not save any more.
TEST(an_extension_cannot_save_or_restore_before_it_has_joined) {
    Training training;
    training.first = [](ringrt_checkpoint_t *checkpoint, bool is_extension) {
        uint64_t step = 0;
        if (!is_extension) return;
        if (ringrt_checkpoint_save(checkpoint, 1) != RINGRT_INVALID_ARGUMENT ||
            ringrt_checkpoint_restore(checkpoint, &step) != RINGRT_INVALID_ARGUMENT)
            _exit(248);
    };
    training.grow(0, 1, 1);
    training.grow(1, 1, 2);
    training.leave(1, 1);
    training.expect_trained(1);
}

TEST(an_extension_ends_with_its_base) {
    Training training;
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    training.forget(0);  // killed
    for (int status : training.job(1).wait(20 * kTimeoutScale))
        ck_assert_int_eq(status, kFailed + RINGRT_PEER_LOST);
}

TEST(a_base_that_loses_a_rank_of_its_own_ends) {
    Training training;
    training.grow(0, 3, 3);
    training.grow(1, 1, 4);
    training.job(0).signal(2, SIGKILL);
    const std::vector<int> ended = training.job(0).wait(20 * kTimeoutScale);
    for (int rank = 0; rank < 2; ++rank)
        ck_assert_int_eq(ended[size_t(rank)], kFailed + RINGRT_PEER_LOST);
}

TEST(an_extension_without_a_base_ends) {
    Training training;
    training.start_timeout_ms = 300;
    for (int status : training.start(1, 2).wait(20 * kTimeoutScale))
        ck_assert_int_eq(status, kFailed + RINGRT_PEER_LOST);
}

int main() { return run_all("job_live"); }
