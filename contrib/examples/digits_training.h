// SPDX-License-Identifier: BSD-3-Clause
// The training itself: what is computed, saved and summed. See digits_training.cpp for how.
#pragma once

#include <ringrt.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "digits_data.h"
#include "digits_device.h"
#include "digits_log.h"
#include "digits_mlp.h"
#include "digits_options.h"

namespace digits {

inline constexpr std::size_t kTrainImages = 1408;  // 22 batches of 64; the other 389 are the test

struct RingrtError : std::runtime_error {
    RingrtError(ringrt_status_t s, const std::string &what) : std::runtime_error(what), status(s) {}
    ringrt_status_t status;
};

// The values that the ranks sum in a step: one float per parameter, one per training image (whether
// it was used in this step), and the loss.
struct StepSums {
    StepSums(std::size_t parameters, std::size_t images)
        : all(parameters + images + 1), n(parameters) {}
    std::span<float> gradient() { return std::span(all).first(n); }
    std::span<float> counts() { return std::span(all).subspan(n); }
    std::span<float> used() { return counts().first(all.size() - n - 1); }
    float &loss() { return all.back(); }
    std::vector<float> all;
    std::size_t n;
};

class Training {
  public:
    using Clock = std::chrono::steady_clock;

    Training(const Options &options, const Split &data);
    ~Training() { ringrt_finalize(rt_); }
    Training(const Training &) = delete;
    Training &operator=(const Training &) = delete;

    void start();
    // True if the training is complete; false if the job, or this rank, leaves for a resize.
    [[nodiscard]] bool run();
    [[nodiscard]] Summary finish();
    [[nodiscard]] bool first_rank() const { return ringrt_rank(rt_) == 0; }

  private:
    [[nodiscard]] bool run_overlapped();
    [[nodiscard]] bool run_in_place();  // digits_in_place.cpp
    ringrt_action_t train_step();
    ringrt_action_t end_step();
    void log_step();
    void register_buffers();
    void register_gradients();
    void restore();
    void start_batch();
    void forward();
    void backward();
    void count_batch();
    void ready(std::size_t id, std::span<float> sums);
    void wait(std::size_t id);
    void update(std::size_t layer);
    void finish_step();
    void count_used();
    [[nodiscard]] double device_ms(std::size_t layer);
    [[nodiscard]] double accuracy();
    [[nodiscard]] uint64_t samples_total() const { return options_.epochs * data_.train.size(); }
    [[nodiscard]] uint64_t samples_left() const {
        return samples_total() - static_cast<uint64_t>(position_) - summing_;
    }

    const Options &options_;
    const Split &data_;
    Mlp model_;
    StepSums sums_;
    std::vector<float> velocity_;
    std::vector<int32_t> seen_;  // how often each training image was used, over all incarnations
    int64_t position_ = 0;       // images used so far: the position in the epoch's shuffle
    uint64_t summing_ = 0;       // images of the step whose sums are under way; 0: none
    uint64_t samples_ = 0;       // of the batch that is being computed
    ringrt_batch_t batch_{};     // this rank's share of it
    std::vector<uint64_t> my_images_;
    Device device_;
    std::optional<StepLog> log_;  // on rank 0
    uint64_t step_ = 0;
    double loss_ = 0;
    ringrt_t *rt_ = nullptr;
    Clock::time_point start_ = Clock::now();
};

}  // namespace digits
