// SPDX-License-Identifier: BSD-3-Clause
// One step of GradientReducer for gradients in GPU memory.
//
// clang-format off
//   program's stream   backward … ready(2) … ready(1) … ready(0)       wait(0) forward … wait(1) …
//                                    │          └──────┐ └──┐             ▲                 ▲
//   library's stream                 └──► transfer ──► transfer ──► transfer ┴──► transfer ─┘
// clang-format on
//
// With NCCL, no thread waits for the GPU. ready() marks the program's stream. The reducer's thread
// enqueues the plan's transfers in the library's stream, each after the gradients that it sums.
// wait() makes the program's stream wait. Times are GPU times, read from these marks after the GPU
// has finished the step.
//
// If NCCL cannot be used (device_collectives.h), gradients are mirrored: each transfer copies its
// part to host memory, and copies the sums back. wait() then blocks.
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

    // ---- Called by the training threads, under the reducer's lock.

    // Marks the current end of the program's stream.
    Status mark(Gpu::Event *out);
    void ready(uint32_t id, Gpu::Event marked);
    // Call when the gradient's transfers are in the library's stream.
    Status wait(uint32_t id);
    void end();  // the step's last wait() was called

    // ---- Called by the reducer's thread. After a failure, the communicator has the message.

    // Call before each transfer; collective the first time. `memory`: any gradient's.
    ringrt_status_t open(const void *memory);
    ringrt_status_t enqueue(const Layout &layout, size_t number,
                            const std::vector<std::byte *> &gradients);
    // Host memory of the gradient's size.
    std::byte *mirror(uint32_t id, uint64_t bytes);
    ringrt_status_t to_mirror(const Layout &layout, const Transfer &transfer,
                              const std::vector<std::byte *> &gradients);
    ringrt_status_t from_mirror(const Layout &layout, const Transfer &transfer,
                                const std::vector<std::byte *> &gradients);
    // Zeros in GPU memory for a gradient that is missing on this rank.
    ringrt_status_t zeros(uint32_t id, uint64_t bytes, std::byte **out);
    // Whether the GPU has finished all enqueued transfers.
    ringrt_status_t summed(bool *out);
    // After end(): whether the GPU has finished the step.
    ringrt_status_t over(bool *out);
    // Then passes the step's times to the learner and the trace. `names`: by gradient.
    void report(Learner &learner, Trace &trace, const std::vector<std::string> &names);

  private:
    ringrt_status_t passed(const Gpu::Event &event, bool *out);
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
    Marks now_, ended_;  // of the current step, and of the step for report()
    std::vector<Sent> sent_;
    std::vector<Gpu::Event> sums_there_;  // by gradient
    // Times are counted from a mark of the previous step: the GPU reports spans as float
    // milliseconds, which are exact only for short spans.
    Gpu::Event base_;
    double base_us_ = 0;
    std::map<uint32_t, std::vector<std::byte>> mirrors_;
    std::map<uint32_t, void *> zeros_;
    std::vector<std::byte> host_zeros_;
};

}  // namespace ringrt
