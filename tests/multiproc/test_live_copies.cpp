// SPDX-License-Identifier: BSD-3-Clause
// Extensions whose ranks hold rows are killed, and the base continues from a copy in its memory
// (RINGRT_LIVE_COPY_STEPS). The checkpoints are removed before, so that going back to one would end
// the base. The weights equal those of one rank alone, bit for bit.
#include "tests/support/live_rows.h"
#include "tests/support/live_test.h"
#include "tests/support/message_fault.h"

using namespace ringrt::test;

namespace {

struct Training : LiveTest<LiveRows> {
    explicit Training(int copy_steps, bool packs = false) {
        setenv("RINGRT_LIVE_COPY_STEPS", std::to_string(copy_steps).c_str(), 1);
        packed = packs;
    }
    ~Training() { unsetenv("RINGRT_LIVE_COPY_STEPS"); }

    // The base alone has made its first checkpoint, which it makes before an extension joins.
    void start_base(int ranks) {
        grow(0, ranks, ranks);
        ck_assert(await([&] { return std::filesystem::exists(checkpoints() + "/LATEST"); }));
        remove_checkpoints();
    }
    void lose(int job, int ranks_then) {
        this->job(job).signal(0, SIGKILL);
        forget(job);
        ck_assert(await_size(ranks_then));
    }
};

void lose_at_random(int steps, bool packs) {
    Training training(steps, packs);
    training.start_base(2);
    training.lose_extensions(12, 3, 7 + unsigned(steps));
    ck_assert_uint_le(training.back_most(), uint64_t(steps));
    training.grow(1, 3, 5);
    training.expect_trained(2);
}

// Something fails after the first loss: all load the checkpoint. After the second one copies count.
void fall_back_once(Training &training) {
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    ck_assert(training.await_steps(20));
    training.lose(1, 2);
    ck_assert_uint_gt(training.back_most(), 1);
    training.remove_checkpoints();
    training.grow(2, 1, 3);
    training.lose(2, 2);
    training.expect_trained(2);
}

}  // namespace

TEST(a_lost_extension_costs_at_most_the_steps_since_the_copy) {
    for (const int steps : {1, 3, 50}) lose_at_random(steps, false);
}

// It has another size in each step.
TEST(a_packed_state_goes_back_with_the_rows) {
    for (const int steps : {1, 7}) lose_at_random(steps, true);
}

TEST(one_rank_doubles_three_times_and_loses_each_extension) {
    Training training(4);
    training.start_base(1);
    training.grow(1, 1, 2);
    training.grow(2, 2, 4);
    training.grow(3, 4, 8);
    training.lose(3, 4);
    training.lose(2, 2);
    training.lose(1, 1);
    // A resize takes the place of a copy.
    ck_assert_uint_le(training.back_most(), 4 + 1);
    training.expect_trained(1);
}

TEST(uneven_sizes_between_nodes) {
    Training training(5);
    training.nodes_apart = true, training.base_nodes = 2;
    training.start_base(2);
    training.grow(1, 1, 3);
    training.grow(2, 2, 5);
    training.lose(1, 4);
    training.leave(2, 2);
    training.grow(3, 1, 3);
    training.lose(3, 2);
    training.expect_trained(2);
}

// The ranks that stay are the base and another extension. They go back to the copy together, if
// the rows were not handed over.
TEST(the_upper_one_of_two_extensions_is_killed_while_it_leaves) {
    Training training(10, true);
    std::mt19937 random(13);
    training.start_base(2);
    training.grow(1, 1, 3);
    for (int i = 0; i < 12; ++i) {
        training.grow(2, 2, 5);
        training.job(2).signal(0, SIGURG);
        usleep(static_cast<useconds_t>(random() % 3000));
        training.job(2).signal(1, SIGKILL);
        training.forget(2);
        ck_assert(training.await_size(3));
    }
    training.lose(1, 2);
    training.expect_trained(2);
}

// Its messages are those of the sums, of the ballot and of the copy.
TEST(an_extension_dies_at_each_message_of_a_step_with_a_copy) {
    static std::atomic<int> *const dies_at = shared_number();
    Training training(2);
    training.nodes_apart = true, training.base_nodes = 2;
    const auto sum = training.reduce;
    training.reduce = [=](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
        if (ringrt_rank(rt) == 2 && messages_left == 0) messages_left = dies_at->load();
        return sum(rt, g, step);
    };
    training.start_base(2);
    for (int messages = 1; messages <= 40; ++messages) {
        *dies_at = 0;
        training.grow(1, 1, 3);
        *dies_at = messages;
        ck_assert(training.await([&] { return training.size() == 2; }));
        training.forget(1);
    }
    ck_assert_uint_le(training.back_most(), 2);
    ck_assert_uint_gt(training.back_most(), 0);
    training.expect_trained(2);
}

// The upper extension is lost first. The lower one dies while all go back to the copy, or after it.
TEST(an_extension_dies_at_each_message_of_going_back) {
    static std::atomic<int> *const dies_at = shared_number();
    Training training(2, true);
    training.nodes_apart = true, training.base_nodes = 2;
    const auto sum = training.reduce;
    training.reduce = [=](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
        const int rank = ringrt_rank(rt), messages = dies_at->load();
        if (rank == 3 && messages > 0) kill(getpid(), SIGKILL);
        if (rank == 2 && messages_left == 0) messages_left = messages;
        return sum(rt, g, step);
    };
    training.start_base(2);
    for (int messages = 1; messages <= 40; ++messages) {
        *dies_at = 0;
        training.grow(1, 1, 3);
        training.grow(2, 1, 4);
        *dies_at = messages;
        ck_assert(training.await([&] { return training.size() == 2; }));
        training.forget(2), training.forget(1);
    }
    ck_assert_uint_le(training.back_most(), 2 + 1);
    training.expect_trained(2);
}

// Three extensions. The uppermost dies while it hands over its rows, so the others go back to the
// copy. The middle one dies there. The lowest one joins again, with the state that it gets.
TEST(an_extension_joins_again_that_was_going_back) {
    static std::atomic<int> *const dies_at = shared_number();
    static int places_left = 0;  // then the middle one dies
    Training training(2);
    training.nodes_apart = true, training.base_nodes = 2;
    training.memory_of = [](int) {
        RowMemory memory;
        memory.make = [](size_t floats) {
            if (places_left > 0 && --places_left == 0) kill(getpid(), SIGKILL);
            return new float[floats];
        };
        return memory;
    };
    const auto sum = training.reduce;
    training.reduce = [=](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
        const int rank = ringrt_rank(rt), messages = dies_at->load();
        if (messages > 0 && ringrt_size(rt) == 5 && rank == 3) places_left = 3;
        if (messages > 0 && rank == 4 && messages_left == 0)
            messages_left = messages, kill(getpid(), SIGURG);
        return sum(rt, g, step);
    };
    training.start_base(2);
    for (int messages = 4; messages <= 40; messages += 2) {
        *dies_at = 0;
        for (int job = 1; job <= 3; ++job) training.grow(job, 1, 2 + job);
        *dies_at = messages;
        ck_assert(training.await([&] { return training.size() < 5; }));
        ck_assert(training.await_steps(3));
        training.forget(3), training.forget(2);
        ck_assert_msg(training.await_size(3), "message %d: no training", messages);
        training.leave(1, 2);
    }
    training.expect_trained(2);
}

// The base has made a copy when it sent the state.
TEST(an_extension_dies_in_its_first_step) {
    Training training(100);
    const auto sum = training.reduce;
    training.reduce = [=](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
        if (ringrt_rank(rt) >= 2) kill(getpid(), SIGKILL);
        return sum(rt, g, step);
    };
    training.start_base(2);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        const int lost = training.recoveries();
        training.start(1, ranks);
        ck_assert(training.await([&] { return training.recoveries() == lost + 2; }));
        training.forget(1);
        ck_assert(training.await_size(2));
    }
    ck_assert_uint_le(training.back_most(), 1);
    training.expect_trained(2);
}

// Some ranks see its votes and end, others see a loss. The training is over for all.
TEST(an_extension_dies_in_the_last_ballot) {
    static std::atomic<int> *const last_step = shared_number();
    for (int messages = 1; messages <= 4; ++messages) {
        Training training(1);
        training.nodes_apart = true, training.base_nodes = 2;
        *last_step = 0;
        const auto sum = training.reduce;
        training.reduce = [=](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
            const ringrt_status_t status = sum(rt, g, step);
            const bool dies = ringrt_rank(rt) == 2 && int(step) + 1 == *last_step;
            messages_left = dies ? messages : 0;
            return status;
        };
        training.start_base(2);
        training.grow(1, 1, 3);
        *last_step = int(training.stop());
        const std::vector<int> ended = training.job(0).wait(30 * kTimeoutScale);
        const std::vector<float> right = trained_alone(training.floats, uint64_t(*last_step), true);
        for (int rank = 0; rank < 2; ++rank) {
            ck_assert_int_eq(ended[size_t(rank)], kTrained);
            ck_assert(training.weights(0, rank) == right);
        }
    }
}

// A base that cannot place its rows then loads them from its checkpoint.
TEST(rows_that_cannot_be_placed_come_from_the_checkpoint) {
    Training training(1);
    training.fails_leaving = true;
    fall_back_once(training);
}

// One rank of the base does not take back what was packed. Then all load, and later copies count.
TEST(a_packed_state_that_a_rank_rejects_comes_from_the_checkpoint) {
    Training training(1, true);
    training.saved = true, training.rejecting = 1;
    fall_back_once(training);
}

int main() { return run_all("live_copies"); }
