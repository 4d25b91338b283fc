// SPDX-License-Identifier: BSD-3-Clause
// Ranks join while the limits of a process leave no descriptor, or no memory for a thread. At the
// base the join waits and training continues; an extension without them ends.
#include "tests/support/live_test.h"
#include "tests/support/scarce.h"

using namespace ringrt::test;

namespace {

struct Order {
    std::atomic<int> what{nothing}, rank{-1}, followed{nothing};
};

class Training : public LiveTest<> {
  public:
    Training() {
        void *shared =
            mmap(nullptr, sizeof(Order), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ck_assert(shared != MAP_FAILED);
        order_ = new (shared) Order;
        reduce = [this, usual = reduce](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
            if (ringrt_rank(rt) == order_->rank) follow();
            return usual(rt, g, step);
        };
    }
    ~Training() { munmap(order_, sizeof *order_); }
    Training(const Training &) = delete;
    Training &operator=(const Training &) = delete;

    // Of a rank of the base.
    void set(int rank, Scarce what) {
        order_->rank = rank;
        order_->what = what;
        ck_assert(await([&] { return order_->followed == what; }));
    }

  private:
    void follow() {
        const int what = order_->what;
        if (what == order_->followed) return;
        make_scarce(static_cast<Scarce>(what));
        order_->followed = what;
    }
    Order *order_;
};

void joins_later(int rank, Scarce what) {
    Training training;
    training.grow(0, 2, 2);
    training.set(rank, what);
    training.start(1, 2);
    ck_assert(training.await_steps(400));
    training.set(rank, nothing);
    ck_assert(training.await_size(4));
    training.leave(1, 2);
    ck_assert_int_eq(training.recoveries(), 0);
    training.expect_trained(2);
}

}  // namespace

TEST(rank_0_has_no_descriptor_left) { joins_later(0, descriptors); }
TEST(rank_1_has_no_descriptor_left) { joins_later(1, descriptors); }
TEST(rank_0_has_no_memory_left) { joins_later(0, memory); }
TEST(rank_1_has_no_memory_left) { joins_later(1, memory); }

// The level that is left is closed without a thread.
TEST(ranks_leave_when_nothing_is_left) {
    for (const Scarce what : {descriptors, memory}) {
        Training training;
        training.grow(0, 2, 2);
        training.grow(1, 2, 4);
        training.set(0, what);
        training.leave(1, 2);
        training.set(0, nothing);
        ck_assert_int_eq(training.recoveries(), 0);
        training.expect_trained(2);
    }
}

TEST(an_extension_without_them_ends) {
    for (const Scarce what : {descriptors, memory}) {
        Training training;
        training.start_timeout_ms = 1000;
        training.prepare = [what](int job, ringrt_t *) {
            if (job > 0) make_scarce(what);
        };
        training.grow(0, 2, 2);
        for (int status : training.start(1, 2).wait(20 * kTimeoutScale))
            ck_assert_int_ge(status, kFailed);
        ck_assert(training.await_steps(3));
        training.prepare = [](int, ringrt_t *) {};
        training.grow(2, 2, 4);
        training.leave(2, 2);
        ck_assert_int_eq(training.recoveries(), 0);
        training.expect_trained(2);
    }
}

int main() { return run_all("live_scarce"); }
