// SPDX-License-Identifier: BSD-3-Clause
// A step of GradientReducer's for gradients in GPU memory.
//
// clang-format off
//   program's stream   backward … ready(2) … ready(1) … ready(0)       wait(0) forward … wait(1) …
//                                    │          └──────┐ └──┐             ▲                 ▲
//   library's stream                 └──► transfer ──► transfer ──► transfer ┴──► transfer ─┘
// clang-format on
//
// By NCCL nobody waits for the GPU: ready() marks the program's stream, the reducer's thread puts
// the transfers of the plan into the library's stream, each behind what it sums, and wait() has the
// program's stream wait. Times are the GPU's, read from these marks once the step is over there.
//
// Where NCCL is no way (device_collectives.h) gradients are mirrored: each transfer copies its part
// to ordinary memory, and back with the sums; then wait() does wait.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libringrt/collective/communicator.h"
#include "libringrt/gpu/device_collectives.h"
#include "libringrt/gradients/gpu_calls.h"
#include "libringrt/gradients/learner.h"
#include "libringrt/gradients/trace.h"

namespace ringrt {

class GpuStep {
  public:
    GpuStep(Communicator &communicator, const GradientSum &sum, size_t gradients);
    ~GpuStep();
    GpuStep(const GpuStep &) = delete;
    GpuStep &operator=(const GpuStep &) = delete;

    [[nodiscard]] bool mirrored() const { return mirrored_; }

    // ---- By the training's threads, under the reducer's lock.

    // The program's stream as it is now.
    Status mark(Gpu::Event *out);
    void ready(uint32_t id, Gpu::Event marked);
    // Its transfers are in the library's stream.
    Status wait(uint32_t id);
    void end();  // the last wait() of the step was called

    // ---- By the reducer's thread. ringrt_status_t: the communicator has the line.

    // Before each transfer; collective the first time. `memory` is a gradient's.
    ringrt_status_t open(const void *memory);
    ringrt_status_t enqueue(const Layout &layout, size_t number,
                            const std::vector<std::byte *> &gradients);
    // In ordinary memory, of as many bytes as the gradient has.
    std::byte *mirror(uint32_t id, uint64_t bytes);
    ringrt_status_t to_mirror(const Layout &layout, const Transfer &transfer,
                              const std::vector<std::byte *> &gradients);
    ringrt_status_t from_mirror(const Layout &layout, const Transfer &transfer,
                                const std::vector<std::byte *> &gradients);
    // For a gradient that this rank has not. *out is the GPU's.
    ringrt_status_t zeros(uint32_t id, uint64_t bytes, std::byte **out);
    // After end(): has the GPU come to its end?
    ringrt_status_t over(bool *out);
    // Then: what it took. `names` by gradient.
    void tell(Learner &learner, Trace &trace, const std::vector<std::string> &names);

  private:
    struct Wait {
        uint32_t id = 0;
        Gpu::Event begun, ended;
    };
    struct Sent {
        DeviceCollectives::Enqueued at;
        double bytes = 0;
        bool reduces = true, in_one = false;
    };
    struct Marks {
        Gpu::Event first;               // ready()
        std::vector<Gpu::Event> ready;  // by gradient; null: missing
        std::vector<Wait> waits;
    };
    [[nodiscard]] std::optional<double> at(const Gpu::Event &event);
    void trace_sent(const Sent &sent, Trace &trace);

    Communicator &communicator_;
    const GradientSum sum_;
    bool opened_ = false, mirrored_ = false;
    Marks now_, ended_;  // of the step under way, and of the one that tell() is about
    std::vector<Sent> sent_;
    std::vector<Gpu::Event> sums_there_;  // by gradient
    // Times are counted from a mark of the step before: a float of milliseconds holds no more.
    Gpu::Event base_;
    double base_us_ = 0;
    std::map<uint32_t, std::vector<std::byte>> mirrors_;
    std::map<uint32_t, void *> zeros_;
    std::vector<std::byte> host_zeros_;
};

}  // namespace ringrt
