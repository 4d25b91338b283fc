// SPDX-License-Identifier: BSD-3-Clause
// Extensions join a training whose sums are made by NCCL, a mock (tests/support/fake_gpu.h). NCCL
// starts for the new ranks while the base trains, and the first sum with them finds it started. It
// fails, never ends, or loses a rank meanwhile; the weights equal those of one rank alone.
#include <algorithm>
#include <random>

#include "libringrt/gpu/gpu.h"
#include "tests/support/channel_service.h"
#include "tests/support/fake_gpu.h"
#include "tests/support/live_test.h"

using namespace ringrt::test;

namespace {

// Shared by all ranks, by job.
struct Counts {
    std::atomic<int> ahead[kJobsMax];   // starts of NCCL for ranks that do not train together yet
    std::atomic<int> late[kJobsMax];    // for ranks that do
    std::atomic<int> open[kJobsMax];    // started and not ended
    std::atomic<int> starting;          // ranks at which NCCL starts ahead now
    std::atomic<int> beside[kJobsMax];  // steps made meanwhile
};

// What NCCL does in a job.
struct Start {
    int ms = 0;
    int fails_rank = -1;  // of the base's ranks; of an extension: all fail
    int failures = 1 << 30;
    bool other_gpu = false;  // the program has another GPU current than it uses
    bool none_current = false;
};

struct Here {  // this process, a rank
    int job = 0, rank = 0;
    std::atomic<int> size = 0;  // with which it trains
    std::atomic<int> failures = 0;
    Start start;
    Counts *counts = nullptr;

    [[nodiscard]] bool fails() const {
        return start.fails_rank >= 0 && (job > 0 || rank == start.fails_rank);
    }
};
Here here;

class CountedGpu : public FakeGpu {
  public:
    using FakeGpu::FakeGpu;
    ~CountedGpu() override { CountedGpu::nccl_end(true); }
    int current_device() override {
        if (here.start.none_current) return -1;
        return FakeGpu::current_device() + (here.start.other_gpu ? 1 : 0);
    }
    ringrt::Status nccl_start(const Secret &secret, int rank, int ranks) override {
        const bool ahead = ranks != here.size;
        ++(ahead ? here.counts->ahead : here.counts->late)[here.job];
        if (ahead && here.fails() && here.failures++ < here.start.failures)
            return {RINGRT_SYSTEM_ERROR, "NCCL on GPU 0: as the test wants"};
        starts_ = ahead, open_ = true;
        here.counts->starting += starts_;
        ++here.counts->open[here.job];
        return FakeGpu::nccl_start(secret, rank, ranks);
    }
    ringrt::Status look(State *out) override {
        RINGRT_TRY(FakeGpu::look(out));
        if (*out == State::Over) end_start();
        return {};
    }
    void take_nccl(Gpu &other) override {
        FakeGpu::take_nccl(other);
        open_ = std::exchange(static_cast<CountedGpu &>(other).open_, false);
    }
    void nccl_end(bool failed) override {
        end_start();
        if (std::exchange(open_, false)) --here.counts->open[here.job];
        FakeGpu::nccl_end(failed);
    }

  private:
    void end_start() {
        if (std::exchange(starts_, false)) --here.counts->starting;
    }
    bool starts_ = false, open_ = false;
};

}  // namespace

// Replaces the library's function.
std::unique_ptr<ringrt::Gpu> ringrt::find_gpu() {
    return std::make_unique<CountedGpu>(FakeGpuPlan{.number = getpid(), .start_ms = here.start.ms});
}

namespace {

struct Training : LiveTest<> {
    Counts *counts;
    std::map<int, Start> starts;  // by job
    std::atomic<int> *const keep =
        new (mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<int>(0);
    const ChannelService service{
        ringrt::channel::SlurmCalls{.requeue = [] { return ringrt::records::ChannelMessage{}; },
                                    .report = [](const ringrt::records::Telemetry &) {},
                                    .ranks_to_keep = [keep = keep] { return keep->load(); }}};

    Training() {
        channel = service.address();
        setenv("RINGRT_GPU", "nccl", 1);
        FakeGpu::keeps_memory = true;
        floats = 4001;
        counts = new (mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Counts();
        prepare = [this](int job, ringrt_t *rt) {
            here.job = job, here.rank = ringrt_rank(rt);
            here.start = starts[job], here.counts = counts;
        };
        reduce = [this](ringrt_t *rt, std::vector<float> &g, uint64_t) {
            static auto *const there = static_cast<float *>(FakeGpu::make(floats * sizeof(float)));
            here.size = ringrt_size(rt);
            counts->beside[here.job] += counts->starting > 0;
            memcpy(there, g.data(), floats * sizeof(float));
            const ringrt_status_t status =
                ringrt_allreduce(there, there, floats, RINGRT_FLOAT32, RINGRT_SUM, rt);
            if (status == RINGRT_OK) memcpy(g.data(), there, floats * sizeof(float));
            return status;
        };
    }
    ~Training() {
        munmap(counts, sizeof(Counts));
        munmap(keep, sizeof *keep);
    }

    // NCCL has started `times` times in this job, and never while it held up training.
    void expect_ahead(int job, int times) const {
        ck_assert_int_eq(counts->ahead[job], times);
        ck_assert_int_eq(counts->late[job], 0);
    }
    // The `left` ranks that stay have started it, besides the first sum of all `ranks`.
    void expect_ahead_of_leaving(int ranks, int left) const {
        ck_assert_int_eq(counts->ahead[0], left);
        ck_assert_int_eq(counts->late[0], ranks);
    }
    // All but the first `ranks` of a base on `base_nodes` nodes are to leave.
    void order(int ranks) {
        *keep = ranks;
        service.signal(ringrt::records::kKeepSignal);
    }
    void expect_base_alone(int ranks) {
        ck_assert(await([&] { return counts->open[0] == ranks; }));
        ck_assert_int_eq(counts->late[0], ranks);  // at the first sum of all
        ck_assert_int_eq(recoveries(), 0);
        expect_trained(ranks);
    }
};

}  // namespace

TEST(the_first_sum_after_a_resize_starts_no_nccl) {
    Training training;
    training.grow(0, 1, 1);
    training.grow(1, 1, 2);
    training.leave(1, 1);
    training.grow(2, 3, 4);
    training.expect_ahead(1, 1);
    training.expect_ahead(2, 3);
    training.leave(2, 1);
    ck_assert_int_eq(training.counts->ahead[0], 2);
    training.expect_base_alone(1);
}

TEST(at_uneven_sizes_and_between_nodes) {
    for (const bool apart : {false, true}) {
        Training training;
        training.nodes_apart = apart;
        training.grow(0, 2, 2);
        training.grow(1, 1, 3);
        training.grow(2, 2, 5);
        training.leave(2, 3);
        training.grow(3, 3, 6);
        training.job(3).signal(0, SIGURG);
        training.leave(1, 2);
        training.expect_ahead(1, 3);
        training.expect_ahead(2, 2);
        training.expect_ahead(3, 3);
        ck_assert_int_eq(training.counts->ahead[0], 6);
        training.expect_base_alone(2);
    }
}

// The joining rank is known to use a GPU by its registered buffers.
TEST(the_state_is_on_the_gpu_too) {
    Training training;
    static std::map<const void *, float *> on_gpu;
    for (int job : {0, 1}) training.starts[job].none_current = true;
    training.registered = [](int, ringrt_t *, std::vector<float> &vector) -> void * {
        const size_t bytes = vector.size() * sizeof(float);
        auto *made = static_cast<float *>(FakeGpu::make(bytes));
        memcpy(made, vector.data(), bytes);
        on_gpu[&vector] = made;
        return made;
    };
    training.push = [](std::vector<float> &vector) {
        memcpy(on_gpu[&vector], vector.data(), vector.size() * sizeof(float));
    };
    training.pull = [](std::vector<float> &vector) {
        memcpy(vector.data(), on_gpu[&vector], vector.size() * sizeof(float));
    };
    training.grow(0, 2, 2);
    training.grow(1, 1, 3);
    training.expect_ahead(1, 1);
    training.leave(1, 2);
    training.expect_base_alone(2);
}

TEST(the_base_trains_while_nccl_starts) {
    for (int slow : {0, 1}) {
        Training training;
        training.starts[slow].ms = 600;
        training.grow(0, 2, 2);
        training.grow(1, 1, 3);
        training.expect_ahead(1, 1);
        ck_assert_int_ge(training.counts->beside[0], 20);  // both ranks
        training.leave(1, 2);
        training.expect_base_alone(2);
    }
}

// Nothing is known of its GPU, or the wrong thing: the first sum starts NCCL.
TEST(a_gpu_that_is_not_known_starts_late) {
    for (const bool wrong : {false, true}) {
        Training training;
        training.starts[1] = {.other_gpu = wrong, .none_current = !wrong};
        training.grow(0, 2, 2);
        training.grow(1, 1, 3);
        ck_assert_int_eq(training.counts->ahead[1], wrong ? 1 : 0);
        ck_assert_int_eq(training.counts->late[1], 1);
        training.leave(1, 2);
        ck_assert(training.await([&] { return training.counts->open[0] == 2; }));
        ck_assert_int_eq(training.recoveries(), 0);
        training.expect_trained(2);
    }
}

TEST(an_extension_is_killed_while_nccl_starts) {
    Training training;
    for (int job : {0, 1}) training.starts[job].ms = 40;
    training.grow(0, 2, 2);
    std::mt19937 random(5);
    int starts = 0;
    for (int i = 0; i < 12; ++i) {
        const int ranks = 1 + i % 3;
        Ranks &extension = training.start(1, ranks);
        ck_assert(training.await([&] { return training.counts->ahead[1] > starts; }));
        usleep(static_cast<useconds_t>(random() % 60000));
        kill(extension.pid(static_cast<int>(random() % static_cast<unsigned>(ranks))), SIGKILL);
        training.forget(1);
        ck_assert(training.await_size(2));
        starts = training.counts->ahead[1];
    }
    ck_assert(training.await([&] { return training.counts->open[0] == 2; }));
    ck_assert_int_eq(training.counts->late[0], 2);
    training.start(2, 2);
    ck_assert(training.await_size(4));
    training.expect_ahead(2, 2);
    training.expect_trained(2);
}

TEST(nccl_that_fails_at_the_base_is_tried_again) {
    Training training;
    training.starts[0] = {.fails_rank = 1, .failures = 2};
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    ck_assert_int_eq(training.counts->ahead[0], 2 * 3);
    ck_assert_int_eq(training.counts->late[1], 0);
    training.leave(1, 2);
    training.expect_base_alone(2);
}

TEST(nccl_that_fails_at_an_extension_ends_it) {
    Training training;
    training.starts[1].fails_rank = 0;
    training.grow(0, 2, 2);
    training.expect_refused(1, 1, RINGRT_SYSTEM_ERROR);
    ck_assert_int_eq(training.size(), 2);
    training.grow(2, 1, 3);
    training.leave(2, 2);
    training.expect_base_alone(2);
}

TEST(nccl_that_never_ends_is_called_off) {
    Training training;
    training.start_timeout_ms = 3000;
    training.starts[1].ms = 1 << 30;
    training.grow(0, 2, 2);
    Ranks &extension = training.start(1, 2);
    ck_assert(training.await([&] { return training.counts->ahead[1] == 4; }));  // asked again
    ck_assert_int_eq(training.size(), 2);
    extension.signal(0, SIGURG);
    ck_assert_int_eq(extension.wait(20 * kTimeoutScale)[0], kFailed + RINGRT_ABORTED);
    training.forget(1);
    training.grow(2, 1, 3);
    training.leave(2, 2);
    training.expect_base_alone(2);
}

TEST(the_base_ends_while_nccl_starts) {
    Training training;
    training.starts[0].ms = 1 << 30;
    training.grow(0, 2, 2);
    training.start(1, 1);
    ck_assert(training.await([&] { return training.counts->ahead[0] == 2; }));
    training.expect_trained(2);
}

TEST(the_first_sum_after_nodes_of_the_base_have_left_starts_no_nccl) {
    Training training;
    training.base_nodes = 2;
    training.starts[0].ms = 200;
    training.grow(0, 5, 5);  // 3 and 2
    ck_assert_int_eq(training.counts->beside[0], 0);
    training.order(3);
    ck_assert(training.await_size(3));
    training.expect_ahead_of_leaving(5, 3);
    ck_assert_int_ge(training.counts->beside[0], 20);  // the base trained meanwhile
    ck_assert_int_eq(training.recoveries(), 0);
    training.grow(1, 1, 4);
    training.expect_ahead(1, 1);
    training.leave(1, 3);
    training.expect_trained(3);
}

// The ranks that stay do not wait for NCCL, and their first sum starts it.
TEST(a_rank_that_leaves_is_killed_while_nccl_starts) {
    Training training;
    training.base_nodes = 2;
    training.starts[0].ms = 400;
    training.grow(0, 4, 4);
    training.order(2);
    ck_assert(training.await([&] { return training.counts->ahead[0] == 2; }));
    training.job(0).signal(3, SIGKILL);
    ck_assert(training.await_size(2));
    ck_assert_int_eq(training.counts->ahead[0], 2);
    ck_assert_int_eq(training.counts->late[0], 4 + 2);
    training.expect_trained(2);
}

int main() { return run_all("live_nccl"); }
