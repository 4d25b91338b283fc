// SPDX-License-Identifier: BSD-3-Clause
// Gradients in GPU memory, ON A MOCK GPU (tests/support/fake_gpu.h): the same bits with every plan
// and way, gaps, faults, and times measured on the GPU. For the possible orders of a GPU's streams
// see tests/unit/gpu/test_lazy_gpu.
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "libringrt/base/clock.h"
#include "tests/multiproc/gradient_training.h"
#include "tests/support/fake_gpu.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr auto kGpu = GradientReducer::Place::Gpu;

struct GpuJob {
    Communicator communicator;

    GpuJob(test::Layout layout, int rank, const TemporaryDirectory &directory, FakeGpuPlan plan)
        : GpuJob(config(layout, rank, directory, plan)) {}
    explicit GpuJob(CommunicatorConfig given) : communicator(std::move(given)) {
        need(communicator.start() == RINGRT_OK, communicator.last_error());
    }

    template <class Made = FakeGpu>
    static CommunicatorConfig config(test::Layout layout, int rank,
                                     const TemporaryDirectory &directory, FakeGpuPlan plan) {
        CommunicatorConfig out = Job::config(layout, rank, directory);
        out.warn = [](const std::string &) {};
        out.find_gpu = [plan] { return std::make_unique<Made>(plan); };
        return out;
    }
    // As ringrt_gradient_ready() does: opens the GPU.
    void *make(size_t bytes) {
        void *memory = FakeGpu::make(std::max<size_t>(bytes, 1));
        bool on_gpu = false;
        need(communicator.device().memory_kind_of(memory, memory, &on_gpu));
        need(on_gpu, "not on the GPU");
        return memory;
    }
};

struct GpuTraining {
    GpuJob &job;
    GradientReducer &exchange;
    std::vector<uint64_t> counts;
    std::vector<float *> gradients;

    GpuTraining(GpuJob &of, GradientReducer &given, const std::vector<uint64_t> &sizes)
        : job(of), exchange(given), counts(sizes) {
        for (size_t g = 0; g < counts.size(); ++g) {
            int id = -1;
            need(exchange.add("g" + std::to_string(g), counts[g], &id));
            gradients.push_back(static_cast<float *>(job.make(counts[g] * sizeof(float))));
        }
    }
    void fill(int rank, int step) {
        for (size_t g = 0; g < counts.size(); ++g)
            for (uint64_t i = 0; i < counts[g]; ++i)
                gradients[g][i] = element(rank, static_cast<int>(g), i, step);
    }
    void ready(size_t g) { need(exchange.ready(static_cast<int>(g), gradients[g], kGpu)); }
    // On a mock GPU whose streams run at once, a sum is complete once it was waited for.
    void wait_and_check(int size, int step) {
        for (size_t g = 0; g < counts.size(); ++g) {
            const void *sum = nullptr;
            need(exchange.wait(static_cast<int>(g), &sum));
            need(sum == gradients[g] || counts[g] == 0, "the sum is in my buffer");
            for (uint64_t i = 0; i < counts[g]; ++i)
                need(gradients[g][i] == expected(size, static_cast<int>(g), i, step),
                     "a sum differs");
        }
    }
};

// The program's stream runs as late as possible: when the library's stream waits for a point in it.
class LateGpu : public FakeGpu {
  public:
    using FakeGpu::FakeGpu;
    static inline std::vector<std::function<void()>> stream;
    Status mark(void *program, Event *out) override {
        RINGRT_TRY(FakeGpu::mark(program, out));
        const std::scoped_lock lock(mutex_);
        ends_[out->get()] = stream.size();
        return {};
    }
    Status after(const Event &event) override {
        const std::scoped_lock lock(mutex_);
        for (; ran_ < ends_[event.get()]; ++ran_) stream[ran_]();
        return FakeGpu::after(event);
    }

  private:
    std::mutex mutex_;
    std::map<void *, size_t> ends_;
    size_t ran_ = 0;
};

const std::vector<test::Layout> kLayouts = {test::Layout{1}, test::Layout{2}, test::Layout{3},
                                            test::Layout{4, 2}};

}  // namespace

// Each rule's plan, by NCCL and mirrored.
TEST(results_do_not_depend_on_the_plan_or_the_way) {
    for (const bool nccl : {true, false}) {
        for (const test::Layout layout : kLayouts) {
            for (const bucketing::Rule &rule : bucketing::all_rules()) {
                TemporaryDirectory directory;
                Ranks ranks(layout.ranks, [&](int rank) {
                    GpuJob job(layout, rank, directory, {.number = rank, .nccl = nccl});
                    const bucketing::Network network{
                        .gbps = 0.01, .alpha_us = 10, .ranks = layout.ranks};
                    GradientReducer exchange(job.communicator,
                                             {.plan = rule.plan(profile_of(kCounts), network)});
                    GpuTraining training(job, exchange, kCounts);
                    for (int step = 0; step < 3; ++step) {
                        training.fill(rank, step);
                        for (size_t g = kCounts.size(); g-- > 0;) training.ready(g);
                        training.wait_and_check(layout.ranks, step);
                        need(exchange.idle(), "not idle between steps");
                    }
                    need(job.communicator.finish() == RINGRT_OK, job.communicator.last_error());
                    return 0;
                });
                expect_all_zero(ranks.wait());
            }
        }
    }
}

// Hooks run on many threads and in any order, and plans change meanwhile.
TEST(any_thread_and_any_order_on_a_mock_gpu) {
    TemporaryDirectory directory;
    Ranks ranks(3, [&](int rank) {
        GpuJob job({.ranks = 3}, rank, directory, {.number = rank});
        GradientReducer exchange(job.communicator, {});
        GpuTraining training(job, exchange, kCounts);
        std::mt19937 random(static_cast<unsigned>(rank));
        for (int step = 0; step < 40; ++step) {
            training.fill(rank, step);
            ready_in_any_order(training, kCounts.size(), random);
            training.wait_and_check(3, step);
        }
        need(job.communicator.finish() == RINGRT_OK, job.communicator.last_error());
        return 0;
    });
    expect_all_zero(ranks.wait());
}

// The same memory repeatedly replaces a missing gradient: it is zero each time.
TEST(a_missing_gradient_on_a_mock_gpu_counts_as_zero) {
    for (const bool nccl : {true, false}) {
        TemporaryDirectory directory;
        Ranks ranks(3, [&](int rank) {
            GpuJob job({.ranks = 3}, rank, directory, {.number = rank, .nccl = nccl});
            GradientReducer exchange(job.communicator, {});
            GpuTraining training(job, exchange, {100, 20000, 300});
            for (int step = 0; step < 9; ++step) {
                training.fill(rank, step);
                const auto missing = static_cast<size_t>(step / 2 % 3);
                for (size_t g = 3; g-- > 0;) {
                    if (!(rank == 1 && g == missing)) training.ready(g);
                }
                for (size_t g = 0; g < 3; ++g) {
                    const void *sum = nullptr;
                    need(exchange.wait(static_cast<int>(g), &sum));
                    for (uint64_t i = 0; i < training.counts[g]; ++i) {
                        float want = element(0, static_cast<int>(g), i, step);
                        want += g == missing ? 0.0F : element(1, static_cast<int>(g), i, step);
                        want += element(2, static_cast<int>(g), i, step);
                        need(static_cast<const float *>(sum)[i] == want, "a sum differs");
                    }
                }
            }
            need(job.communicator.finish() == RINGRT_OK, job.communicator.last_error());
            return 0;
        });
        expect_all_zero(ranks.wait());
    }
}

// The work that produces a gradient is in the program's stream, and has not run when ready() is
// called.
TEST(a_gradient_is_summed_after_its_computation) {
    for (const bool nccl : {true, false}) {
        TemporaryDirectory directory;
        Ranks ranks(2, [&](int rank) {
            GpuJob job(GpuJob::config<LateGpu>({.ranks = 2}, rank, directory,
                                               {.number = rank, .nccl = nccl}));
            GradientReducer exchange(job.communicator, {});
            GpuTraining training(job, exchange, {3000, 20000, 7});
            LateGpu::stream.reserve(100);
            for (int step = 0; step < 5; ++step) {
                for (size_t g = 3; g-- > 0;) {
                    LateGpu::stream.emplace_back(
                        [=, to = training.gradients[g], count = training.counts[g]] {
                            for (uint64_t i = 0; i < count; ++i)
                                to[i] = element(rank, static_cast<int>(g), i, step);
                        });
                    training.ready(g);
                }
                training.wait_and_check(2, step);
            }
            need(job.communicator.finish() == RINGRT_OK, job.communicator.last_error());
            return 0;
        });
        expect_all_zero(ranks.wait());
    }
}

TEST(gradients_of_both_kinds_get_one_line) {
    TemporaryDirectory directory;
    Ranks ranks(1, [&](int rank) {
        GpuJob job({.ranks = 1}, rank, directory, {});
        GradientReducer exchange(job.communicator, {});
        GpuTraining training(job, exchange, {0, 10, 10});
        std::vector<float> mine(10);
        need(exchange.ready(0, nullptr));  // no bytes: in no memory
        training.ready(1);
        need(exchange.ready(2, mine.data()).message ==
                 "gradient g2 is in host memory, others in GPU memory: a rank's gradients must all "
                 "be in one",
             "mixed");
        training.ready(2);
        for (int g = 0; g < 3; ++g) need(exchange.wait(g, nullptr));
        return 0;
    });
    expect_all_zero(ranks.wait());
}

// One rank's gradients are in host memory: both ranks get an error, and none waits forever.
TEST(ranks_with_gradients_in_different_memory_get_an_error) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        GpuJob job({.ranks = 2}, rank, directory, {.number = rank});
        GradientReducer exchange(job.communicator, {});
        GpuTraining training(job, exchange, {5000});
        std::vector<float> mine(5000);
        need(rank == 0 ? exchange.ready(0, training.gradients[0], kGpu)
                       : exchange.ready(0, mine.data()));
        const Status waited = exchange.wait(0, nullptr);
        return waited.code == RINGRT_MISMATCH || waited.code == RINGRT_PEER_LOST ? 0 : 1;
    });
    expect_all_zero(ranks.wait());
}

// NCCL waits for a lost rank. No call hangs, and a later call names the rank.
TEST(a_lost_rank_is_named_and_no_call_hangs) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        GpuJob job({.ranks = 2}, rank, directory, {.number = rank, .hang = true});
        GradientReducer exchange(job.communicator, {});
        GpuTraining training(job, exchange, {5000});
        training.ready(0);
        need(exchange.wait(0, nullptr));  // in the stream
        if (rank == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            _exit(7);
        }
        Status later;
        for (int i = 0; i < 20000 && later.ok(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            later = exchange.wait(0, nullptr);
        }
        need(later.code == RINGRT_PEER_LOST && later.message.find("rank 1") != std::string::npos,
             "told: \"" + later.message + "\"");
        return 0;
    });
    ck_assert_int_eq(ranks.wait()[0], 0);
}

// The mock GPU's time is the host's, because its streams run at once.
TEST(the_profile_has_the_gpus_times) {
    for (const bool nccl : {true, false}) {
        TemporaryDirectory directory;
        Ranks ranks(2, [&](int rank) {
            GpuJob job({.ranks = 2}, rank, directory, {.number = rank, .nccl = nccl});
            GradientReducer exchange(job.communicator,
                                     {.trace_file = directory.path + "/trace.json"});
            GpuTraining training(job, exchange, {40000, 40000, 100000});
            for (int step = 0; step < 12; ++step) {
                for (size_t g = 3; g-- > 0;) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(4));
                    training.ready(g);
                }
                for (int g = 0; g < 3; ++g) need(exchange.wait(g, nullptr));
            }
            GradientReducer::State state = exchange.state();
            for (int i = 0; i < 5000 && state.steps < 12; ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                state = exchange.state();
            }
            need(state.steps == 12, "steps are counted: " + std::to_string(state.steps));
            const double first_us = state.profile.gradients[0].ready_us;
            need(first_us > 8e3, "ready after " + std::to_string(first_us));
            need(state.profile.gradients[2].ready_us < first_us, "the last layer is ready first");
            need(state.link.blocks > 5 || state.plan_version > 0, "blocks are measured");
            need(job.communicator.finish() == RINGRT_OK, job.communicator.last_error());
            return 0;
        });
        expect_all_zero(ranks.wait());
        if (nccl) {
            const std::string text = text_of(directory.path + "/trace.1.json");
            ck_assert(text.find("allreduce") != std::string::npos ||
                      text.find("all-gather") != std::string::npos);
        }
    }
}

int main() { return ringrt::test::run_all("gpu_gradients"); }
