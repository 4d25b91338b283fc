// SPDX-License-Identifier: BSD-3-Clause
// When ringrt_allreduce() of GPU memory returns, through the C API, on a mock GPU whose NCCL never
// ends: at once, but with live_resize only after the sum.
#include "libringrt/gpu/gpu.h"
#include "tests/support/alone.h"
#include "tests/support/fake_gpu.h"

using namespace ringrt::test;

// Replaces the library's function: linked before it.
std::unique_ptr<ringrt::Gpu> ringrt::find_gpu() {
    return std::make_unique<FakeGpu>(FakeGpuPlan{.hang = true});
}

namespace {

enum class Call { allreduce, reduce_scatter, all_gather };
constexpr Call kCalls[] = {Call::allreduce, Call::reduce_scatter, Call::all_gather};

ringrt_status_t status_of(Call call, uint32_t live_resize) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.timeout_ms = 300;
    config.live_resize = live_resize;
    const Alone alone(config);
    auto *data = static_cast<float *>(FakeGpu::make(4096));
    auto *other = static_cast<float *>(FakeGpu::make(4096));
    if (call == Call::reduce_scatter)
        return ringrt_reduce_scatter(data, other, 8, RINGRT_FLOAT32, RINGRT_SUM, alone.rt);
    if (call == Call::all_gather) return ringrt_allgather(data, other, 8, RINGRT_FLOAT32, alone.rt);
    return ringrt_allreduce(data, data, 8, RINGRT_FLOAT32, RINGRT_SUM, alone.rt);
}

TEST(a_sum_is_in_stream_order) {
    for (const Call call : kCalls) ck_assert_int_eq(status_of(call, 0), RINGRT_OK);
}

// Otherwise ranks could continue with an update from a failed sum.
TEST(with_live_resize_the_call_waits_for_the_sum) {
    for (const Call call : kCalls) ck_assert_int_eq(status_of(call, 1), RINGRT_TIMEOUT);
}

}  // namespace

int main() { return run_all("gpu_order"); }
