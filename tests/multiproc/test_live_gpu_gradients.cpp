// SPDX-License-Identifier: BSD-3-Clause
// Gradients in the memory of a mock GPU (tests/support/fake_gpu.h) are summed while extensions
// join, leave and die. The weights equal those of one rank alone, bit for bit.
#include <mutex>
#include <random>

#include "libringrt/base/dtype.h"
#include "libringrt/gpu/gpu.h"
#include "tests/support/fake_gpu.h"
#include "tests/support/live_test.h"

using namespace ringrt::test;

namespace {

// NCCL's results are there only some queries after its calls: a sum that is used before it is
// complete is not a number.
class LateNccl : public FakeGpu {
  public:
    using FakeGpu::FakeGpu;
    ringrt::Status nccl_call(std::span<const Call> calls, Stream stream) override {
        {
            const std::scoped_lock lock(mutex_);
            arrive();
        }
        ringrt::Status called = FakeGpu::nccl_call(calls, stream);
        const std::scoped_lock lock(mutex_);
        for (const Call &call : calls) {
            const size_t ranks =
                call.kind == Call::AllGather ? static_cast<size_t>(this->ranks()) : 1;
            const size_t bytes = call.count * ranks * ringrt::dtype_bytes(call.dtype);
            auto *at = static_cast<char *>(call.recv);
            late_.push_back({at, std::string(at, bytes)});
            memset(at, 0xff, bytes);
        }
        queries_ = 0;
        return called;
    }
    ringrt::Status passed(const Event &event, bool *out) override {
        const std::scoped_lock lock(mutex_);
        RINGRT_TRY(FakeGpu::passed(event, out));
        *out = *out && ++queries_ > 3;
        if (*out) arrive();
        return {};
    }

  private:
    struct Late {
        char *at;
        std::string bytes;
    };
    void arrive() {
        for (const Late &each : late_) memcpy(each.at, each.bytes.data(), each.bytes.size());
        late_.clear();
    }
    std::mutex mutex_;
    std::vector<Late> late_;
    int queries_ = 0;
};

}  // namespace

// Replaces the library's function.
std::unique_ptr<ringrt::Gpu> ringrt::find_gpu() {
    return std::make_unique<LateNccl>(FakeGpuPlan{.number = getpid()});
}

namespace {

constexpr size_t kParts = 3;

struct Training : LiveTest<> {
    explicit Training(const char *route) {
        setenv("RINGRT_GPU", route, 1);
        FakeGpu::keeps_memory = true;
        floats = 4001;
        prepare = [this](int, ringrt_t *rt) {
            for (size_t i = 0; i < kParts; ++i) {
                const std::string name = "g" + std::to_string(i);
                int id = -1;
                if (ringrt_gradient_register(rt, name.c_str(), end(i) - end(i - 1), RINGRT_FLOAT32,
                                             RINGRT_SUM, &id) != RINGRT_OK)
                    abort();
            }
        };
        reduce = [this](ringrt_t *rt, std::vector<float> &g, uint64_t) { return sum(rt, g); };
    }

  private:
    // Gradient i is [end(i - 1), end(i)): uneven, one of a single element.
    [[nodiscard]] size_t end(size_t i) const {
        return i + 1 == 0 ? 0 : i == 0 ? 1 : i + 1 == kParts ? floats : 1500;
    }
    ringrt_status_t sum(ringrt_t *rt, std::vector<float> &g) {
        static auto *const on_gpu = static_cast<float *>(FakeGpu::make(floats * sizeof(float)));
        memcpy(on_gpu, g.data(), floats * sizeof(float));
        ringrt_status_t status = RINGRT_OK;
        for (size_t i = kParts; i-- > 0 && status == RINGRT_OK;)
            status = ringrt_gradient_ready(rt, static_cast<int>(i), on_gpu + end(i - 1));
        // The program may use each sum when it has waited for it.
        for (size_t i = 0; i < kParts && status == RINGRT_OK; ++i) {
            const void *at = nullptr;
            status = ringrt_gradient_wait(rt, static_cast<int>(i), &at);
            if (status == RINGRT_OK)
                memcpy(&g[end(i - 1)], at, (end(i) - end(i - 1)) * sizeof(float));
        }
        return status;
    }
};

void grow_and_shrink(const char *route, bool nodes_apart) {
    Training training(route);
    training.nodes_apart = nodes_apart;
    training.grow(0, 1, 1);
    training.grow(1, 1, 2);
    training.grow(2, 2, 4);
    training.leave(2, 2);
    training.grow(3, 1, 3);
    training.leave(1, 2);  // extension 3 joins again
    training.leave(3, 1);
    ck_assert_int_eq(training.recoveries(), 0);
    training.expect_trained(1);
}

void killed(const char *route) {
    Training training(route);
    training.grow(0, 2, 2);
    training.lose_extensions(10, 2, 3);
    training.grow(1, 2, 4);
    training.expect_trained(2);
}

}  // namespace

TEST(by_nccl_at_sizes_1_to_4) { grow_and_shrink("nccl", false); }
TEST(by_nccl_between_nodes) { grow_and_shrink("nccl", true); }
TEST(through_host_memory) { grow_and_shrink("host", false); }
TEST(an_extension_is_killed_while_nccl_sums) { killed("nccl"); }
TEST(an_extension_is_killed_while_host_memory_sums) { killed("host"); }

int main() { return run_all("live_gpu_gradients"); }
