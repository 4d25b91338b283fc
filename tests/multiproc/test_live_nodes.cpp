// SPDX-License-Identifier: BSD-3-Clause
// Whole nodes of the base leave while it trains. No step is lost, and the weights equal those of
// one rank alone bit for bit. Ranks are killed before, while and after their nodes leave.
#include <random>

#include "tests/support/channel_service.h"
#include "tests/support/check.h"
#include "tests/support/live_handles.h"
#include "tests/support/live_rows.h"

using namespace ringrt::test;
namespace channel = ringrt::channel;

namespace {

// A base whose record in Slurm may contain an order.
template <class Training>
struct BaseOf {
    explicit BaseOf(int size, int nodes, bool gradients = false) : ranks(size) {
        if (gradients) use_gradient();
        training.base_nodes = nodes;
        training.channel = service.address();
        training.start(0, size);
        ck_assert(training.await_size(size));
    }
    ~BaseOf() { munmap(keep, sizeof *keep); }

    // Instead of an allreduce.
    void use_gradient() {
        training.prepare = [this](int, ringrt_t *rt) {
            int id = -1;
            if (ringrt_gradient_register(rt, "g", training.floats, RINGRT_FLOAT32, RINGRT_SUM,
                                         &id) != RINGRT_OK)
                abort();
        };
        training.reduce = [](ringrt_t *rt, std::vector<float> &g, uint64_t) {
            const ringrt_status_t ready = ringrt_gradient_ready(rt, 0, g.data());
            return ready == RINGRT_OK ? ringrt_gradient_wait(rt, 0, nullptr) : ready;
        };
    }
    void order(int ranks_to_keep) {
        *keep = ranks_to_keep;
        service.signal(ringrt::records::kKeepSignal);
    }
    // Slurm kills what still runs on nodes that it takes.
    void kill_from(int first) {
        for (int rank = first; rank < ranks; ++rank) training.job(0).signal(rank, SIGKILL);
    }
    std::vector<int> end(double timeout_s = 30) {
        steps = training.stop();
        return training.job(0).wait(timeout_s * kTimeoutScale);
    }
    void expect_trained(const std::vector<int> &ended, int count) {
        const std::vector<float> right = trained_alone(training.floats, steps, training.exact);
        for (int rank = 0; rank < count; ++rank) {
            ck_assert_int_eq(ended[size_t(rank)], kTrained);
            ck_assert_uint_eq(training.step(0, rank), steps);
            ck_assert_msg(training.weights(0, rank) == right, "rank %d: other weights", rank);
        }
    }
    // Nodes leave, and nothing is lost.
    void shrink_to(int count) {
        order(count);
        ck_assert(training.await_size(count));
        kill_from(count);
        ck_assert(training.await_steps(3));
        ck_assert_int_eq(training.size(), count);
        ck_assert_int_eq(training.recoveries(), 0);
    }
    // Beside `count` ranks of the base.
    void extend_for_a_while(int extension, int count) {
        training.start(1, extension);
        ck_assert(training.await_size(count + extension));
        training.job(1).signal(0, SIGURG);
        ck_assert(training.await_size(count));
    }

    const int ranks;
    std::atomic<int> *const keep =
        new (mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<int>(0);
    const ChannelService service{
        channel::SlurmCalls{.requeue = [] { return ringrt::records::ChannelMessage{}; },
                            .report = [](const ringrt::records::Telemetry &) {},
                            .ranks_to_keep = [keep = keep] { return keep->load(); }}};
    Training training;
    uint64_t steps = 0;
};
using Base = BaseOf<LiveTraining>;

// At every moment: either nothing is lost, or all ranks see the loss, as without the order.
template <class Any>
void lose_a_rank_on_a_node_that_leaves() {
    std::mt19937 random(7);
    int survived = 0;
    for (int i = 0; i < 16; ++i) {
        Any base(4, 2);
        base.order(2);
        usleep(random() % 60000);
        base.training.job(0).signal(2 + i % 2, SIGKILL);
        usleep(20000);
        base.kill_from(i % 3 == 0 ? 2 : 4);
        const std::vector<int> ended = base.end();
        if (ended[0] == kTrained)
            base.expect_trained(ended, 2), ++survived;
        else
            for (int rank = 0; rank < 2; ++rank)
                ck_assert_int_eq(ended[size_t(rank)], kFailed + RINGRT_PEER_LOST);
    }
    ck_assert_int_gt(survived, 4);
}

}  // namespace

TEST(half_of_the_nodes_leave) {
    Base base(4, 2);
    base.shrink_to(2);
    base.expect_trained(base.end(), 2);
}

TEST(nodes_with_different_numbers_of_ranks) {
    Base base(5, 2);  // 3 and 2
    base.shrink_to(3);
    base.expect_trained(base.end(), 3);
}

TEST(two_of_three_nodes_leave_and_an_extension_joins_and_leaves) {
    Base base(6, 3);
    base.shrink_to(2);
    base.extend_for_a_while(3, 2);
    base.expect_trained(base.end(), 2);
}

TEST(nodes_leave_one_after_the_other) {
    Base base(4, 4);
    for (const int count : {3, 2, 1}) base.shrink_to(count);
    base.expect_trained(base.end(), 1);
}

TEST(nodes_leave_while_gradients_are_summed_and_an_extension_joins) {
    Base base(5, 3, true);
    base.shrink_to(4);
    base.shrink_to(2);
    base.training.start(1, 1);
    ck_assert(base.training.await_size(3));
    base.expect_trained(base.end(), 2);
}

TEST(rows_move_to_the_nodes_that_stay) {
    BaseOf<LiveRows> base(5, 3);
    base.shrink_to(4);
    base.shrink_to(2);
    base.training.start(1, 1);
    ck_assert(base.training.await_size(3));
    base.expect_trained(base.end(), 2);
}

// They end well, at the step at which they left, whether Slurm takes their nodes or not.
TEST(ranks_that_left_end_at_once) {
    Base base(4, 2);
    base.order(2);
    ck_assert(base.training.await_size(2));
    const uint64_t left_at = base.training.step(0, 2);
    ck_assert(base.training.await_steps(20));
    const std::vector<int> ended = base.end();
    base.expect_trained(ended, 2);
    for (int rank = 2; rank < 4; ++rank) {
        ck_assert_int_eq(ended[size_t(rank)], kHasLeft);
        ck_assert_uint_eq(base.training.step(0, rank), left_at);
    }
}

// An order that splits a node is ignored, and delays no join.
TEST(no_part_of_a_node_leaves) {
    Base base(4, 2);
    base.order(3);
    base.extend_for_a_while(1, 4);
    base.expect_trained(base.end(), 4);
}

// The order comes while an extension joins: first one, then the other, or the order waits until the
// extension has left.
TEST(an_extension_joins_meanwhile) {
    for (const int ms : {0, 30, 60, 90}) {
        Base base(4, 2);
        base.training.start(1, 2);
        usleep(static_cast<useconds_t>(ms) * 1000);
        base.order(2);
        ck_assert(base.training.await_steps(100));
        ck_assert(LiveTraining::await([&] { return base.training.size() != 2; }));
        base.training.job(1).signal(0, SIGURG);
        ck_assert(base.training.await_size(2));
        base.kill_from(2);
        base.expect_trained(base.end(), 2);
    }
}

TEST(a_rank_dies_on_a_node_that_leaves) { lose_a_rank_on_a_node_that_leaves<Base>(); }

TEST(a_rank_of_three_handles_dies_on_a_node_that_leaves) {
    lose_a_rank_on_a_node_that_leaves<BaseOf<LiveHandles>>();
}

TEST(nodes_of_a_job_of_three_handles_leave) {
    BaseOf<LiveHandles> base(6, 3);
    base.shrink_to(4);
    base.shrink_to(2);
    base.extend_for_a_while(3, 2);
    base.expect_trained(base.end(), 2);
}

// If the rows were not handed over, the ranks that stay load the newest checkpoint in place.
TEST(a_rank_with_rows_dies_on_a_node_that_leaves) {
    std::mt19937 random(5);
    int survived = 0;
    for (int i = 0; i < 10; ++i) {
        BaseOf<LiveRows> base(4, 2);
        base.order(2);
        usleep(random() % 60000);
        base.training.job(0).signal(2 + i % 2, SIGKILL);
        usleep(20000);
        base.kill_from(2);
        const std::vector<int> ended = base.end();
        survived += ended[0] == kTrained;
        if (ended[0] == kTrained)
            base.expect_trained(ended, 2);
        else
            for (int rank = 0; rank < 2; ++rank)
                ck_assert_int_eq(ended[size_t(rank)], kFailed + RINGRT_PEER_LOST);
    }
    ck_assert_int_gt(survived, 2);
}

TEST(a_rank_that_stays_dies) {
    std::mt19937 random(11);
    for (int i = 0; i < 8; ++i) {
        Base base(4, 2);
        base.order(2);
        usleep(random() % 60000);
        base.training.job(0).signal(i % 2, SIGKILL);
        const std::vector<int> ended = base.end();
        ck_assert_int_eq(ended[size_t(1 - i % 2)], kFailed + RINGRT_PEER_LOST);
        for (int rank = 2; rank < 4; ++rank) ck_assert_int_ge(ended[size_t(rank)], kHasLeft);
    }
}

int main() { return run_all("live nodes", 120); }
