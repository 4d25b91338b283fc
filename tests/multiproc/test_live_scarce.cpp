// SPDX-License-Identifier: BSD-3-Clause
// Ranks join while the limits of a process leave no descriptor, memory for a thread, or thread. At
// the base the join waits and training continues; an extension without them ends.
#include <fcntl.h>

#include "tests/support/live_test.h"
#include "tests/support/scarce.h"

using namespace ringrt::test;

namespace {

struct Order {
    std::atomic<int> what{nothing}, rank{-1}, followed{nothing};
};

ringrt_status_t sum_gradient(ringrt_t *rt, std::vector<float> &g, uint64_t) {
    const ringrt_status_t ready = ringrt_gradient_ready(rt, 0, g.data());
    return ready == RINGRT_OK ? ringrt_gradient_wait(rt, 0, nullptr) : ready;
}

class Training : public LiveTest<> {
  public:
    explicit Training(bool has_gradients = false) {
        if (has_gradients) reduce = sum_gradient;
        prepare = [this, has_gradients](int job, ringrt_t *rt) {
            int id = -1;
            if (has_gradients)
                (void)ringrt_gradient_register(rt, "g", floats, RINGRT_FLOAT32, RINGRT_SUM, &id);
            const int log = open(log_of(job).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            ck_assert(dup2(log, STDERR_FILENO) >= 0 && close(log) == 0);
        };
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

    // Lines of the job's ranks with these words.
    [[nodiscard]] int lines(int job, const std::string &words) const {
        std::ifstream log(log_of(job));
        int found = 0;
        for (std::string line; std::getline(log, line);) found += line.find(words) != line.npos;
        return found;
    }

  private:
    [[nodiscard]] std::string log_of(int job) const {
        return checkpoints() + "/log-" + std::to_string(job);
    }
    void follow() {
        const int what = order_->what;
        if (what == order_->followed) return;
        make_scarce(static_cast<Scarce>(what));
        order_->followed = what;
    }
    Order *order_;
};

void joins_later(int rank, Scarce what, bool has_gradients = false) {
    Training training(has_gradients);
    training.grow(0, 2, 2);
    training.set(rank, what);
    training.start(1, 2);
    ck_assert(training.await_steps(400));
    training.set(rank, nothing);
    ck_assert(training.await_size(4));
    if (what == threads) ck_assert_int_eq(training.lines(0, "cannot create a thread"), 1);
    ck_assert_int_le(training.lines(0, "no extension joins now"), 1);
    training.leave(1, 2);
    ck_assert_int_eq(training.recoveries(), 0);
    training.expect_trained(2);
}

}  // namespace

TEST(rank_0_has_no_descriptor_left) { joins_later(0, descriptors); }
TEST(rank_1_has_no_descriptor_left) { joins_later(1, descriptors); }
TEST(rank_0_has_no_memory_left) { joins_later(0, memory); }
TEST(rank_1_has_no_memory_left) { joins_later(1, memory); }
TEST(rank_0_has_no_thread_left) { joins_later(0, threads); }
TEST(rank_1_has_no_thread_left) { joins_later(1, threads); }
// Rank 0 cannot even begin to listen.
TEST(rank_0_has_no_thread_from_the_start) {
    Training training;
    training.prepare = [usual = training.prepare](int job, ringrt_t *rt) {
        usual(job, rt);
        if (job == 0 && ringrt_rank(rt) == 0) make_scarce(threads);
    };
    training.grow(0, 2, 2);
    training.set(0, threads);
    training.start(1, 2);
    ck_assert(training.await_steps(400));
    training.set(0, nothing);
    ck_assert(training.await_size(4));
    ck_assert_int_eq(training.lines(0, "cannot create a thread"), 1);
    training.leave(1, 2);
    training.expect_trained(2);
}

TEST(a_gradient_without_a_thread_is_refused) {
    const TemporaryDirectory directory;
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.size = 1;
    config.checkpoint_dir = directory.path.c_str();
    ringrt_t *rt = nullptr;
    int id = -1;
    float sum = 2;
    ck_assert_int_eq(ringrt_init(&rt, &config), RINGRT_OK);
    make_scarce(threads);
    ck_assert_int_eq(ringrt_gradient_register(rt, "g", 1, RINGRT_FLOAT32, RINGRT_SUM, &id),
                     RINGRT_SYSTEM_ERROR);
    ck_assert_str_eq(ringrt_last_error(rt),
                     "gradients: cannot create a thread: Resource temporarily unavailable");
    make_scarce(nothing);
    ck_assert_int_eq(ringrt_gradient_register(rt, "g", 1, RINGRT_FLOAT32, RINGRT_SUM, &id),
                     RINGRT_OK);
    ck_assert_int_eq(id, 0);
    make_scarce(threads);
    ck_assert_int_eq(ringrt_gradient_ready(rt, id, &sum), RINGRT_OK);
    ck_assert_int_eq(ringrt_gradient_wait(rt, id, nullptr), RINGRT_OK);
    ck_assert_int_eq(ringrt_finalize(rt), RINGRT_OK);
}

TEST(rank_0_has_no_thread_left_and_gradients) { joins_later(0, threads, true); }

// The level that is left is closed without a thread, and gradients need no new one.
void ranks_leave(bool has_gradients) {
    for (const Scarce what : {descriptors, memory, threads}) {
        Training training(has_gradients);
        training.grow(0, 2, 2);
        training.grow(1, 2, 4);
        training.set(0, what);
        training.leave(1, 2);
        training.set(0, nothing);
        ck_assert_int_eq(training.recoveries(), 0);
        training.expect_trained(2);
    }
}

TEST(ranks_leave_when_nothing_is_left) { ranks_leave(false); }
TEST(ranks_leave_when_nothing_is_left_and_gradients) { ranks_leave(true); }

TEST(an_extension_without_them_ends) {
    for (const Scarce what : {descriptors, memory, threads}) {
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
