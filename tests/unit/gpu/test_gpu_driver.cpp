// SPDX-License-Identifier: BSD-3-Clause
// The calls to NVIDIA's driver, with a mock driver (tests/support/fake_cuda.cpp).
#include <dlfcn.h>

#include "libringrt/gpu/device_pointer.h"
#include "libringrt/gpu/gpu.h"
#include "tests/support/alone.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

// dlopen("libcuda.so.1") returns the library opened earlier under that name.
class Driver {
  public:
    explicit Driver(const char *path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        ck_assert_msg(library_ != nullptr, "%s", dlerror());
    }
    [[nodiscard]] float *memory() const { return call<float *()>("fake_cuda_memory")(); }
    void refuse_streams(int number) const { call<void(int)>("fake_cuda_refuse_streams")(number); }
    [[nodiscard]] void *captured_stream() const {
        return call<void *()>("fake_cuda_captured_stream")();
    }
    void set_device(int device) const { call<void(int)>("fake_cuda_set_device")(device); }
    [[nodiscard]] int contexts() const { return call<int()>("fake_cuda_contexts")(); }

  private:
    template <typename Function>
    Function *call(const char *name) const {
        return reinterpret_cast<Function *>(dlsym(library_, name));
    }
    void *library_;
};

}  // namespace

TEST(the_driver_reports_where_a_pointer_lies) {
    int here = 0;
    const Driver driver(FAKE_POINTERS);
    ck_assert_int_eq(device_of_pointer(driver.memory()), 0);
    ck_assert_int_eq(device_of_pointer(driver.memory() + 1000), 0);
    ck_assert_int_eq(device_of_pointer(&here), -1);
    ck_assert_int_eq(device_of_pointer(nullptr), -1);
}

TEST(without_a_driver_all_memory_is_host_memory) {
    int here = 0;
    ck_assert_int_eq(device_of_pointer(&here), -1);
}

// A library that cannot use the GPU never touches its memory.
TEST(a_device_pointer_is_refused_by_every_call) {
    const Driver driver(FAKE_POINTERS);
    float *there = driver.memory(), here[8] = {};
    Alone alone;
    ringrt_t *rt = alone.rt;
    const auto refused = [&](ringrt_status_t status) {
        ck_assert_msg(status == RINGRT_UNSUPPORTED, "%s: %s", ringrt_status_string(status),
                      ringrt_last_error(rt));
        ck_assert_str_ne(ringrt_last_error(rt), "");
    };
    refused(ringrt_allreduce(there, there + 8, 8, RINGRT_FLOAT32, RINGRT_SUM, rt));
    EXPECT_TEXT(
        ringrt_last_error(rt),
        "rank 0: this buffer is in the memory of GPU 0, and this libringrt was built without "
        "NCCL: copy it to host memory, or build with --with-nccl");
    refused(ringrt_allreduce(here, there, 8, RINGRT_FLOAT32, RINGRT_SUM, rt));
    refused(ringrt_reduce_scatter(there, here, 8, RINGRT_FLOAT32, RINGRT_SUM, rt));
    refused(ringrt_allgather(here, there, 8, RINGRT_FLOAT32, rt));
    ringrt_request_t *request = nullptr;
    refused(ringrt_allreduce_start(there, there, 8, RINGRT_FLOAT32, RINGRT_SUM, 0, rt, &request));
    ck_assert_ptr_null(request);
    int id = -1;
    ck_assert_int_eq(ringrt_gradient_register(rt, "g", 8, RINGRT_FLOAT32, RINGRT_SUM, &id),
                     RINGRT_OK);
    refused(ringrt_gradient_ready(rt, id, there));
    const uint64_t shape[] = {8};
    refused(ringrt_register(rt, "w", there, RINGRT_FLOAT32, 1, shape));
    EXPECT_TEXT(
        ringrt_last_error(rt),
        "rank 0: buffer w is in the memory of GPU 0, and this libringrt was built without NCCL: "
        "register a copy in host memory, or build with --with-nccl");
    refused(ringrt_register_rows(rt, "w", there, RINGRT_FLOAT32, 1, shape, 0, 8));
    // A wrong buffer costs nothing: the next call works.
    ck_assert_int_eq(ringrt_allreduce(here, here, 8, RINGRT_FLOAT32, RINGRT_SUM, rt), RINGRT_OK);
    ck_assert_int_eq(ringrt_save(rt, 1), RINGRT_OK);
}

#ifdef TEST_NCCL_DRIVER
// If the stream cannot be created, the program's default stream is not used instead.
TEST(a_gpu_whose_stream_could_not_be_made_is_not_open) {
    const Driver driver(FAKE_DRIVER);
    std::unique_ptr<Gpu> gpu = find_gpu();
    ck_assert_ptr_nonnull(gpu.get());
    driver.refuse_streams(1);
    ck_assert_int_eq(gpu->open(0).code, RINGRT_NO_MEMORY);
    ck_assert_int_eq(driver.contexts(), 0);
    ck_assert_int_eq(gpu->open(0).code, RINGRT_OK);
    Gpu::Event event;
    ck_assert_int_eq(gpu->mark(nullptr, &event).code, RINGRT_OK);
    ck_assert_int_eq(gpu->after(event).code, RINGRT_OK);
    ck_assert_int_eq(gpu->mark(driver.captured_stream(), &event).code, RINGRT_UNSUPPORTED);
    Gpu::Event later;
    double us = 0;
    bool passed = false;
    ck_assert_int_eq(gpu->mark_own(&later).code, RINGRT_OK);
    ck_assert_int_eq(gpu->passed(later, &passed).code, RINGRT_OK);
    ck_assert(passed);
    ck_assert_int_eq(gpu->between(later, later, &us).code, RINGRT_OK);
    ck_assert_double_eq(us, 1500);
    event.reset(), later.reset();
    gpu.reset();
    ck_assert_int_eq(driver.contexts(), 0);
}

TEST(the_gpu_that_the_program_has_made_current) {
    const Driver driver(FAKE_DRIVER);
    std::unique_ptr<Gpu> gpu = find_gpu();
    ck_assert_int_eq(gpu->current_device(), -1);
    driver.set_device(3);
    ck_assert_int_eq(gpu->current_device(), 3);
}
#endif

int main() { return run_all("gpu_driver"); }
