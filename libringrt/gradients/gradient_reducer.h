// SPDX-License-Identifier: BSD-3-Clause
// Sums gradients over the ranks while the backward pass still runs and the next forward pass
// begins.
//
// A thread of its own sends the blocks of the plan, one after the other. Every rank follows the
// same plan: rank 0 measures, plans and broadcasts. Results do not depend on the plan: every
// element is summed in the same order whatever block it travels in.
//
// A step begins with the first ready() and ends when every gradient was waited for. The first
// wait() of a step says that this rank's backward pass is over: gradients that are not ready by
// then are missing in this step and count as zero. Between steps, and only there, the communicator
// is free for other use.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "libringrt/base/status.h"
#include "libringrt/bucketing/rules.h"
#include "libringrt/collective/communicator.h"
#include "libringrt/gradients/gpu_step.h"
#include "libringrt/gradients/learner.h"
#include "libringrt/gradients/trace.h"
#include "libringrt/gradients/transfer_layout.h"

namespace ringrt {

struct GradientReducerConfig {
    ringrt_dtype_t dtype = RINGRT_FLOAT32;
    ringrt_op_t op = RINGRT_SUM;
    // Followed as it is and never changed where it is not empty; must be sound for the gradients.
    bucketing::Plan plan{};
    // Makes the plans otherwise: rank 0's, whatever the other ranks' says.
    const bucketing::Rule *rule = bucketing::find_rule("predictive");
    std::string trace_file{};  // a Chrome trace of this rank; empty: none
    // Rank 0's measured profile, after 1, 2, 4 … steps and at the end; empty: none.
    std::string profile_file{};
    // Samples that each rank computes in a step on so many ranks; empty: not known.
    std::function<double(int ranks)> samples_per_rank{};
};

class GradientReducer {
  public:
    // `communicator` has started and outlives the exchange.
    GradientReducer(Communicator &communicator, GradientReducerConfig config);
    // Ends the thread; where peers are waited for, only after the communicator's time-out or
    // abort().
    ~GradientReducer();
    GradientReducer(const GradientReducer &) = delete;
    GradientReducer &operator=(const GradientReducer &) = delete;

    // In the order in which the forward pass uses them, the same on all ranks, before the first
    // ready().
    [[nodiscard]] Status add(std::string name, uint64_t count, int *id);

    // From any thread and in any order. `buffer` is the exchange's until wait(id) returned; then it
    // holds the sum. On the rank's GPU (all of a rank's, or none): after what the program's stream
    // holds; and until that stream comes to the wait (gpu_step.h).
    enum class Place { Host, Gpu };
    [[nodiscard]] Status ready(int id, void *buffer, Place place = Place::Host);

    // Until the gradient's sum is there. *sum, where not null, is the buffer given to ready(), or
    // memory of the exchange where this rank had none, valid until the next step begins; null
    // before the first step.
    [[nodiscard]] Status wait(int id, const void **sum);

    [[nodiscard]] bool idle() const;

    // Before the first ready(), the same text on all ranks: goes on from what learned() said in an
    // earlier run. What is not such a text, or about other gradients, changes nothing.
    void recall(std::string_view text);
    [[nodiscard]] std::string learned() const;  // empty: nothing yet

    // Rank 0's, of the present plan's profile and link; grows from step to step.
    struct PlannedSpeed {
        int ranks = 0;
        double step_ms = 0;
    };
    [[nodiscard]] std::vector<PlannedSpeed> planned_speeds() const;

    struct State {
        uint64_t steps = 0;
        uint64_t plan_version = 0;   // 0: made from sizes alone
        bucketing::Profile profile;  // measured, with names; on all ranks their own
        bucketing::LinkEstimate link;
        bucketing::Plan plan;
        double cpu_us = 0;  // of the thread so far, without the communicator: copies and planning
    };
    [[nodiscard]] State state() const;

  private:
    struct Gradient {
        std::string name;
        uint64_t bytes = 0;
        std::byte *buffer = nullptr;
        bool ready = false, complete = false, waited = false;
        uint64_t bytes_to_gather = 0;          // bytes
        std::vector<std::byte> zero_buffer{};  // where this rank has none
    };

    void run_steps();
    void fail(ringrt_status_t status, const char *what);
    void begin_step(double now_us);
    void end_step();
    void reset_plan(bucketing::Plan plan);
    ringrt_status_t run_step(std::unique_lock<std::mutex> &lock);
    ringrt_status_t run_transfer(size_t number, std::unique_lock<std::mutex> &lock);
    ringrt_status_t run_gpu_transfer(size_t number, std::unique_lock<std::mutex> &lock);
    ringrt_status_t run_mirrored(const Transfer &transfer);
    ringrt_status_t learn_from_gpu(std::unique_lock<std::mutex> &lock);
    Status take_place(const Gradient &gradient, Place place);
    ringrt_status_t use_zero_buffer(uint32_t id);
    ringrt_status_t use_zero_buffers(const Transfer &transfer);
    // Times are the GPU's.
    [[nodiscard]] bool in_stream_order() const { return gpu_ && !gpu_->mirrored(); }
    bool wait_until_ready(const Transfer &transfer, std::unique_lock<std::mutex> &lock);
    bool wait_until_due(const Transfer &transfer, std::unique_lock<std::mutex> &lock);
    void point_at_buffers(const Transfer &transfer);
    ringrt_status_t reduce(const Transfer &transfer);
    ringrt_status_t gather(const Transfer &transfer);
    void complete(const Transfer &transfer);
    ringrt_status_t agree_on_plan();
    ringrt_status_t make_first_plan(std::unique_lock<std::mutex> &lock);
    ringrt_status_t agree_on_rule();
    std::vector<uint64_t> new_plan();
    void plan_a_speed(std::unique_lock<std::mutex> &lock);
    [[nodiscard]] bucketing::Profile measured() const;
    void save_profile(std::unique_lock<std::mutex> &lock) const;
    [[nodiscard]] double samples_per_rank(int ranks) const;
    [[nodiscard]] std::vector<uint64_t> gradient_bytes() const;
    bucketing::Profile sizes_only() const;
    Status failure(ringrt_status_t status, const std::string &what) const;
    Status check_id(int id) const;

    Communicator &communicator_;
    const GradientReducerConfig config_;
    const uint64_t element_bytes_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Gradient> gradients_;
    bool active_ = false;         // a step is under way
    bool backward_over_ = false;  // of this step
    bool stop_ = false;
    int awaited_ = -1;  // the gradient that the thread waits for to be ready
    double step_start_us_ = 0;
    size_t waited_ = 0, complete_ = 0;
    uint64_t steps_ended_ = 0;
    std::optional<Place> place_;    // of the first gradient that was ready
    std::unique_ptr<GpuStep> gpu_;  // where that is the GPU
    uint64_t plan_version_ = 0;
    const bucketing::Rule *rule_ = nullptr;  // rank 0's, from the first step on
    Status failed_;
    bucketing::Plan plan_;
    Layout layout_;
    std::vector<std::byte *> buffers_;          // by gradient: of the transfer under way
    std::vector<std::byte> own_, staging_;      // shares of this rank; small ones of a transfer
    std::vector<std::byte> zeros_, discarded_;  // padding
    std::optional<Learned> recalled_;
    std::unique_ptr<Learner> learner_;  // from the first step on
    std::vector<PlannedSpeed> speeds_;
    uint64_t speeds_version_ = 0;             // of the plan
    double cpu_us_ = 0, network_cpu_us_ = 0;  // the second: of this step, in the communicator
    Trace trace_;
    std::thread thread_;
};

}  // namespace ringrt
