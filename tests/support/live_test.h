// SPDX-License-Identifier: BSD-3-Clause
// What tests do with a LiveTraining, or one derived from it: ranks join, leave and are killed, and
// the weights must be those of one rank alone.
#pragma once

#include <filesystem>
#include <random>

#include "tests/support/check.h"
#include "tests/support/live_job.h"

namespace ringrt::test {

template <class Training = LiveTraining>
struct LiveTest : Training {
    using Training::Training;

    // Starts ranks, and waits until `ranks_in_all` train.
    void grow(int job, int ranks, int ranks_in_all) {
        this->start(job, ranks);
        ck_assert(this->await_size(ranks_in_all));
    }
    // SIGURG: asked to; SIGTERM: preempted.
    void expect_left(int job, int signal) {
        this->job(job).signal(0, signal);
        for (int status : this->job(job).wait(20 * kTimeoutScale))
            ck_assert_int_eq(status, kHasLeft);
    }
    void leave(int job, int ranks_then) {
        expect_left(job, SIGURG);
        ck_assert(this->await_size(ranks_then));
    }
    void expect_refused(int job, int ranks, ringrt_status_t why) {
        for (int status : this->start(job, ranks).wait(20 * kTimeoutScale))
            ck_assert_int_eq(status, kFailed + why);
        ck_assert(this->await_steps(3));
    }
    // The base ends well, with the weights of one rank alone.
    void expect_trained(int base_ranks) {
        const uint64_t steps = this->stop();
        const std::vector<int> ended = this->job(0).wait(30 * kTimeoutScale);
        const std::vector<float> right = trained_alone(this->floats, steps, this->exact);
        for (int rank = 0; rank < base_ranks; ++rank) {
            ck_assert_int_eq(ended[size_t(rank)], kTrained);
            ck_assert_uint_eq(this->step(0, rank), steps);
            ck_assert_msg(this->weights(0, rank) == right, "rank %d: other weights", rank);
        }
    }
    // A loss after that ends the base, unless all ranks have what they need in memory.
    void remove_checkpoints() {
        std::vector<std::filesystem::path> folders;
        for (const auto &entry : std::filesystem::directory_iterator(this->checkpoints()))
            if (entry.path().filename().string().starts_with("step-"))
                folders.push_back(entry.path());
        ck_assert_uint_gt(folders.size(), 0);
        for (const auto &path : folders) std::filesystem::remove_all(path);
    }
    void join_and_leave_at_sizes_1_to_5() {
        grow(0, 1, 1);
        grow(1, 1, 2);
        grow(2, 1, 3);
        leave(2, 2);
        grow(3, 2, 4);
        grow(4, 1, 5);
        leave(4, 4);
        leave(3, 2);
        leave(1, 1);
        ck_assert_int_eq(this->recoveries(), 0);
        expect_trained(1);
    }
    void end_together_between_nodes() {
        this->nodes_apart = true;
        grow(0, 2, 2);
        grow(1, 3, 5);
        expect_trained(2);
        for (int status : this->job(1).wait(20 * kTimeoutScale)) ck_assert_int_eq(status, kTrained);
        ck_assert(this->weights(1, 2) == this->weights(0, 0));
    }
    void leave_below_another() {
        grow(0, 2, 2);
        grow(1, 2, 4);
        grow(2, 1, 5);
        leave(1, 3);  // the other one joins again
        leave(2, 2);
        ck_assert_int_eq(this->recoveries(), 0);
        expect_trained(2);
    }
    // Of two extensions the upper one is lost.
    void lose_one_of_two() {
        grow(0, 2, 2);
        grow(1, 1, 3);
        grow(2, 2, 5);
        const uint64_t step = this->step();
        kill(this->job(2).pid(1), SIGKILL);
        usleep(20000);
        this->forget(2);
        ck_assert(this->await_size(3));
        ck_assert_uint_ge(this->step(), step);
        ck_assert_int_gt(this->recoveries(), 0);
        expect_left(1, SIGURG);
        expect_trained(2);
    }
    void refuse_another_layout() {
        grow(0, 1, 1);
        for (int status : this->start(1, 1, true).wait(20 * kTimeoutScale))
            ck_assert_int_eq(status, kFailed + RINGRT_INVALID_ARGUMENT);
        ck_assert_int_eq(this->size(), 1);
        expect_trained(1);
    }
    // A base of two ranks loses extensions of 1 to `ranks_most` ranks at random moments: while they
    // start, join and train.
    void lose_extensions(int times, int ranks_most, unsigned seed) {
        std::mt19937 random(seed);
        for (int i = 0; i < times; ++i) {
            const int ranks = 1 + i % ranks_most;
            Ranks &extension = this->start(1, ranks);
            if (i % 4 != 0) ck_assert(this->await([&] { return this->size() == 2 + ranks; }));
            usleep(static_cast<useconds_t>(random() % 40000));
            kill(extension.pid(static_cast<int>(random()) & (ranks == 1 ? 0 : 1)), SIGKILL);
            usleep(static_cast<useconds_t>(random() % 20000));
            this->forget(1);  // as srun would
            ck_assert(this->await_size(2));
        }
        ck_assert_int_gt(this->recoveries(), 0);
    }
};

}  // namespace ringrt::test
