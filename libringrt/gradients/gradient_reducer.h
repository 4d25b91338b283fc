// SPDX-License-Identifier: BSD-3-Clause
// Sums gradients over the ranks while the backward pass still runs and the next forward pass
// begins.
//
// Its own thread sends the plan's blocks in order. All ranks follow the same plan: rank 0 measures,
// plans and broadcasts it. Results do not depend on the plan, because the order in which an element
// is summed does not depend on its block.
//
// A step begins with the first ready() and ends when every gradient has been waited for. The first
// wait() of a step marks the end of this rank's backward pass: gradients that are not ready by then
// are missing in this step and count as zero. The communicator is free for other use only between
// steps.
//
// Between two steps, or after a rank was lost, the ranks may change (use()). They then agree on a
// new first plan. Rank 0 makes it from what it has learned, so other ranks need no measurements.
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
    // If not empty: used as it is and never changed. It must be sound for the gradients.
    bucketing::Plan plan{};
    // Otherwise makes the plans. Rank 0's rule is used on all ranks.
    const bucketing::Rule *rule = bucketing::find_rule("predictive");
    // The first sum is there only when all of the step are: no loss falls between two waits, so a
    // program that updates as it waits updates all or nothing.
    bool whole_steps = false;
    std::string trace_file{};  // a Chrome trace of this rank; empty: none
    // An extension's: in its trace's name, because the base has the same ranks. 0: the base.
    uint64_t trace_job = 0;
    int trace_rank = -1;  // in that job; -1: in the communicator
    // Rank 0's measured profile, after 1, 2, 4 … steps and at the end; empty: none.
    std::string profile_file{};
    // Samples that each rank computes in one step on `ranks` ranks; empty: unknown.
    std::function<double(int ranks)> samples_per_rank{};
};

class GradientReducer {
  public:
    // `communicator` has started when the first gradient is ready, and outlives the reducer or its
    // next use().
    GradientReducer(Communicator &communicator, GradientReducerConfig config);
    // Ends the thread. If the thread waits for peers, only after the communicator's timeout or
    // abort().
    ~GradientReducer();
    GradientReducer(const GradientReducer &) = delete;
    GradientReducer &operator=(const GradientReducer &) = delete;

    // Call in the order in which the forward pass uses the gradients, the same on all ranks, before
    // the first ready(). SYSTEM_ERROR if no thread can be created.
    [[nodiscard]] Status add(std::string name, uint64_t count, int *id);

    // From any thread, in any order. The reducer owns `buffer` until wait(id) returns; then it
    // holds the sum. GPU buffers (all of a rank's gradients, or none): the sum starts after the
    // work now in the program's stream, and is complete when that stream passes the wait
    // (gpu_step.h).
    enum class Place { Host, Gpu };
    [[nodiscard]] Status ready(int id, void *buffer, Place place = Place::Host);

    // Waits for the gradient's sum. *sum, if not null, is the buffer given to ready(), or the
    // reducer's memory if this rank had none, valid until the next step begins; null before the
    // first step.
    [[nodiscard]] Status wait(int id, const void **sum);

    [[nodiscard]] bool idle() const;

    // If a rank was lost in this step: the step is discarded, and its buffers are the program's
    // again. Calls fail until use().
    void discard_lost_step();
    // Continues with the ranks of `communicator`; collective in that all of them do. No step is
    // under way, or it is discarded. The sums of a finished step stay valid, but in GPU
    // memory only those in the program's buffers. The present communicator must still exist.
    void use(Communicator &communicator);
    // What the ranks must have in common: types, names and sizes.
    [[nodiscard]] std::string layout() const;

    // Call before the first ready(), with the same text on all ranks: continues from learned() of
    // an earlier run. Text that is malformed or about other gradients is ignored.
    void restore(std::string_view text);
    [[nodiscard]] std::string learned() const;  // empty: nothing yet

    // On rank 0, from the current plan's profile and link. One size is added per step.
    struct PlannedSpeed {
        int ranks = 0;
        double step_ms = 0;
    };
    [[nodiscard]] std::vector<PlannedSpeed> planned_speeds() const;

    struct State {
        uint64_t steps = 0;
        uint64_t plan_version = 0;   // 0: made from sizes only
        bucketing::Profile profile;  // measured on this rank, with names
        bucketing::LinkEstimate link;
        bucketing::Plan plan;
        double cpu_us = 0;  // of the thread, without the communicator: copies and planning
    };
    [[nodiscard]] State state() const;

  private:
    struct Gradient {
        std::string name;
        uint64_t bytes = 0;
        std::byte *buffer = nullptr;
        bool ready = false, complete = false, waited = false;
        uint64_t bytes_to_gather = 0;
        std::vector<std::byte> zero_buffer{};  // if this rank has none
    };

    [[nodiscard]] Status have_thread();
    void stop_step(std::unique_lock<std::mutex> &lock);
    [[nodiscard]] bool has_step() const;  // for the thread
    void run_steps();
    void fail(ringrt_status_t status, const char *what);
    [[nodiscard]] Status begin_step(double now_us);
    void end_step();
    void reset_plan(bucketing::Plan plan);
    ringrt_status_t run_step(std::unique_lock<std::mutex> &lock);
    ringrt_status_t run_transfer(size_t number, std::unique_lock<std::mutex> &lock);
    ringrt_status_t run_gpu_transfer(size_t number, std::unique_lock<std::mutex> &lock);
    ringrt_status_t run_mirrored(const Transfer &transfer);
    ringrt_status_t await_sums(std::unique_lock<std::mutex> &lock);
    ringrt_status_t learn_from_gpu(std::unique_lock<std::mutex> &lock);
    Status take_place(const Gradient &gradient, Place place);
    ringrt_status_t use_zero_buffer(uint32_t id);
    ringrt_status_t use_zero_buffers(const Transfer &transfer);
    // Whether times are GPU times.
    [[nodiscard]] bool in_stream_order() const { return gpu_ && !gpu_->mirrored(); }
    [[nodiscard]] bool sums_are_awaited() const { return config_.whole_steps && in_stream_order(); }
    bool wait_until_ready(const Transfer &transfer, std::unique_lock<std::mutex> &lock);
    bool wait_until_due(const Transfer &transfer, std::unique_lock<std::mutex> &lock);
    void point_at_buffers(const Transfer &transfer);
    ringrt_status_t reduce(const Transfer &transfer);
    ringrt_status_t gather(const Transfer &transfer);
    void complete(const Transfer &transfer);
    ringrt_status_t agree_on_plan();
    ringrt_status_t make_first_plan(std::unique_lock<std::mutex> &lock);
    ringrt_status_t agree_on_start(bool recalls);
    std::vector<uint64_t> new_plan();
    void plan_a_speed(std::unique_lock<std::mutex> &lock);
    [[nodiscard]] bucketing::Profile measured() const;
    void save_profile(std::unique_lock<std::mutex> &lock) const;
    [[nodiscard]] double samples_per_rank(int ranks) const;
    [[nodiscard]] std::vector<uint64_t> gradient_bytes() const;
    bucketing::Profile sizes_only() const;
    Status failure(ringrt_status_t status, const std::string &what) const;
    Status check_id(int id) const;

    Communicator *communicator_;
    const GradientReducerConfig config_;
    const uint64_t element_bytes_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Gradient> gradients_;
    bool active_ = false;         // a step is under way
    bool backward_over_ = false;  // for this step
    bool in_step_ = false;        // the thread runs a step
    bool stop_ = false;           // it leaves this step
    bool ends_ = false;           // it ends
    bool has_thrown_ = false;     // it has ended
    bool begun_ = false;          // a gradient was ready: no more can be added
    int awaited_ = -1;            // the gradient that the thread waits for
    double step_start_us_ = 0;
    size_t waited_ = 0, complete_ = 0;
    // With the present ranks: steps that the program ended, and that the thread ran.
    uint64_t steps_ended_ = 0, steps_run_ = 0;
    std::optional<Place> place_;    // of the first gradient that was ready
    std::unique_ptr<GpuStep> gpu_;  // set if place_ is Gpu
    uint64_t plan_version_ = 0;
    const bucketing::Rule *rule_ = nullptr;  // rank 0's, from the first step on
    bool plans_at_first_ = false;            // rank 0 plans in the first step, from recalled_
    Status failed_;
    bucketing::Plan plan_;
    Layout layout_;
    std::vector<std::byte *> buffers_;          // by gradient: of the current transfer
    std::vector<std::byte> own_, staging_;      // this rank's shares; small shares of a transfer
    std::vector<std::byte> zeros_, discarded_;  // padding
    std::optional<Learned> recalled_;
    std::unique_ptr<Learner> learner_;  // from the first step with these ranks on
    std::vector<PlannedSpeed> speeds_;
    uint64_t speeds_version_ = 0;             // of the plan
    double cpu_us_ = 0, network_cpu_us_ = 0;  // the second: this step's, in the communicator
    Trace trace_;
    std::thread thread_;  // from the first gradient on: a resize needs no new one
};

}  // namespace ringrt
