// SPDX-License-Identifier: BSD-3-Clause
// A malleable training program: a small network on real data, data-parallel over ringrt's C API.
//
// What makes it malleable is marked (1) to (5); everything else is ordinary training code.
#include <ringrt.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "digits_data.h"
#include "digits_log.h"
#include "digits_mlp.h"
#include "digits_options.h"

namespace digits {
namespace {

constexpr std::size_t kTrainImages = 1408;  // 22 batches of 64; the other 389 are the test
using Clock = std::chrono::steady_clock;

enum Exit { kDone = 0, kSamplesWrong = 1, kUsage = 2, kNoData = 3, kFailed = 4, kDamaged = 5 };

struct RingrtError : std::runtime_error {
    RingrtError(ringrt_status_t s, const std::string &what) : std::runtime_error(what), status(s) {}
    ringrt_status_t status;
};

void check(const ringrt_t *rt, ringrt_status_t status, const char *call) {
    if (status != RINGRT_OK)
        throw RingrtError(status, std::string(call) + ": " + ringrt_status_string(status) + ": " +
                                      ringrt_last_error(rt));
}

std::vector<std::size_t> widths(const Options &options) {
    std::vector<std::size_t> all{kPixels};
    all.insert(all.end(), options.hidden.begin(), options.hidden.end());
    all.push_back(kClasses);
    return all;
}

// One float per parameter and one per training image (was it used in this step?), and the loss: all
// that the ranks add up in a step, in one buffer for one allreduce.
struct StepSums {
    StepSums(std::size_t parameters, std::size_t images)
        : all(parameters + images + 1), n(parameters) {}
    std::span<float> gradient() { return std::span(all).first(n); }
    std::span<float> used() { return std::span(all).subspan(n, all.size() - n - 1); }
    float &loss() { return all.back(); }
    std::vector<float> all;
    std::size_t n;
};

class Training {
  public:
    Training(const Options &options, const Split &data);
    ~Training() { ringrt_finalize(rt_); }
    Training(const Training &) = delete;
    Training &operator=(const Training &) = delete;

    void start();
    // True when the training is complete, false when the job leaves for a resize.
    [[nodiscard]] bool run();
    [[nodiscard]] Summary finish();
    [[nodiscard]] bool first_rank() const { return ringrt_rank(rt_) == 0; }

  private:
    void register_buffers();
    void restore();
    void one_step();
    void add_my_gradients(const ringrt_batch_t &batch, uint64_t samples);
    void wait_as_a_device(uint64_t my_samples) const;
    void update(uint64_t samples, double learning_rate);
    void count_used();
    [[nodiscard]] double accuracy();
    [[nodiscard]] uint64_t samples_total() const { return options_.epochs * data_.train.size(); }
    [[nodiscard]] uint64_t samples_left() const {
        return samples_total() - static_cast<uint64_t>(position_);
    }

    const Options &options_;
    const Split &data_;
    Mlp model_;
    StepSums sums_;
    std::vector<float> velocity_;
    std::vector<int32_t> seen_;  // how often each training image was used, over all incarnations
    int64_t position_ = 0;       // images used so far: where in which epoch's shuffle we stand
    uint64_t step_ = 0;
    double loss_ = 0;
    ringrt_t *rt_ = nullptr;
    Clock::time_point start_ = Clock::now();
    Clock::time_point step_start_ = start_;
};

Training::Training(const Options &options, const Split &data)
    : options_(options),
      data_(data),
      model_(widths(options), options.seed),
      sums_(model_.parameters().size(), data.train.size()),
      velocity_(model_.parameters().size()),
      seen_(data.train.size()) {}

// (1) Meet the other ranks and go on from the last checkpoint, if there is one.
void Training::start() {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.global_batch = options_.batch_per_gpu > 0 ? options_.batch_per_gpu : options_.batch;
    config.batch_rule =
        options_.batch_per_gpu > 0 ? RINGRT_FIXED_BATCH_PER_GPU : RINGRT_FIXED_GLOBAL_BATCH;
    config.save_interval_s = options_.save_interval_s;
    if (options_.batch_per_gpu == 0)
        config.steps_total = (samples_total() + options_.batch - 1) / options_.batch;
    const ringrt_status_t status = ringrt_init(&rt_, &config);
    check(nullptr, status, "ringrt_init");
    register_buffers();
    restore();
}

// (2) Name everything that the training needs to go on: the same on all ranks.
void Training::register_buffers() {
    const uint64_t parameters = velocity_.size(), images = seen_.size(), one = 1;
    check(rt_,
          ringrt_register(rt_, "parameters", model_.parameters().data(), RINGRT_FLOAT32, 1,
                          &parameters),
          "ringrt_register");
    check(rt_, ringrt_register(rt_, "velocity", velocity_.data(), RINGRT_FLOAT32, 1, &parameters),
          "ringrt_register");
    check(rt_, ringrt_register(rt_, "seen", seen_.data(), RINGRT_INT32, 1, &images),
          "ringrt_register");
    check(rt_, ringrt_register(rt_, "position", &position_, RINGRT_INT64, 1, &one),
          "ringrt_register");
}

void Training::restore() {
    const ringrt_status_t status = ringrt_restore(rt_, &step_);
    if (status != RINGRT_NOT_FOUND) check(rt_, status, "ringrt_restore");
    if (!first_rank()) return;
    std::printf("digits: %d GPU%s, restart %d, %s step %llu", ringrt_size(rt_),
                ringrt_size(rt_) == 1 ? "" : "s", ringrt_restarts(rt_),
                status == RINGRT_OK ? "goes on after" : "starts at",
                static_cast<unsigned long long>(step_));
    if (options_.device_ms_per_sample > 0)
        std::printf("; no GPU: each step lasts %g ms per image of a rank's share",
                    options_.device_ms_per_sample);
    std::printf("\n");
}

// (3) Which images of the step are mine follows from the number of ranks; which images are in the
// step does not, so every image is used once an epoch over any sequence of sizes.
void Training::add_my_gradients(const ringrt_batch_t &batch, uint64_t samples) {
    std::fill(sums_.all.begin(), sums_.all.end(), 0.0F);
    const uint64_t images = data_.train.size();
    double loss = 0;
    for (uint64_t i = batch.first; i < std::min(batch.first + batch.count, samples); ++i) {
        const uint64_t at = static_cast<uint64_t>(position_) + i;
        const uint64_t image = ringrt_sample(options_.seed, at / images, images, at % images);
        loss += model_.add_gradient(data_.train.image(image), data_.train.labels[image],
                                    sums_.gradient());
        sums_.used()[image] += 1;
    }
    sums_.loss() = static_cast<float>(loss);
}

// Two cores cannot make sixteen ranks faster. Where there is no GPU the step lasts as long as one
// would take for this rank's share, so that the speed-up over ranks is as on GPUs.
void Training::wait_as_a_device(uint64_t my_samples) const {
    const std::chrono::duration<double, std::milli> step(options_.device_ms_per_sample *
                                                         static_cast<double>(my_samples));
    std::this_thread::sleep_until(step_start_ + std::chrono::duration_cast<Clock::duration>(step));
}

void Training::update(uint64_t samples, double learning_rate) {
    const auto scale = static_cast<float>(1.0 / static_cast<double>(samples));
    const auto rate = static_cast<float>(learning_rate),
               keep = static_cast<float>(options_.momentum);
    const std::span<float> parameters = model_.parameters(), gradient = sums_.gradient();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        velocity_[i] = keep * velocity_[i] + scale * gradient[i];
        parameters[i] -= rate * velocity_[i];
    }
}

void Training::count_used() {
    const std::span<const float> used = sums_.used();
    for (std::size_t i = 0; i < seen_.size(); ++i) seen_[i] += static_cast<int32_t>(used[i]);
}

// (4) Add up over all ranks. The sums of all ranks are bit-identical, so are their parameters.
void Training::one_step() {
    step_start_ = Clock::now();
    ringrt_batch_t batch;
    check(rt_, ringrt_batch(rt_, &batch), "ringrt_batch");
    const uint64_t samples = std::min(batch.global, samples_left());
    add_my_gradients(batch, samples);
    wait_as_a_device(batch.count);
    check(rt_,
          ringrt_allreduce(rt_, sums_.all.data(), sums_.all.data(), sums_.all.size(),
                           RINGRT_FLOAT32, RINGRT_SUM),
          "ringrt_allreduce");
    loss_ = static_cast<double>(sums_.loss()) / static_cast<double>(samples);
    update(samples, options_.learning_rate * batch.lr_scale);
    count_used();
    position_ += static_cast<int64_t>(samples);
    ++step_;
    check(rt_, ringrt_set_steps_left(rt_, (samples_left() + batch.global - 1) / batch.global),
          "ringrt_set_steps_left");
}

// (5) Tell ringrt about every finished step: it may save, and may say that the job leaves.
bool Training::run() {
    StepLog log(first_rank() ? options_.loss_csv : "");
    const auto images = static_cast<double>(data_.train.size());
    for (ringrt_action_t action = RINGRT_CONTINUE; samples_left() > 0;) {
        one_step();
        log.append({.step = step_,
                    .epoch = static_cast<double>(position_) / images,
                    .loss = loss_,
                    .gpus = ringrt_size(rt_),
                    .restart = ringrt_restarts(rt_)});
        check(rt_, ringrt_step(rt_, step_, &action), "ringrt_step");
        if (action == RINGRT_LEAVE) return false;
    }
    check(rt_, ringrt_save(rt_, step_), "ringrt_save");
    return true;
}

double Training::accuracy() {
    std::size_t right = 0;
    for (std::size_t i = 0; i < data_.test.size(); ++i)
        if (model_.classify(data_.test.image(i)) == data_.test.labels[i]) ++right;
    return static_cast<double>(right) / static_cast<double>(data_.test.size());
}

Summary Training::finish() {
    Summary s{.steps = step_,
              .samples = static_cast<uint64_t>(position_),
              .loss = loss_,
              .accuracy = accuracy(),
              .seconds = std::chrono::duration<double>(Clock::now() - start_).count(),
              .device_ms_per_sample = options_.device_ms_per_sample,
              .gpus = ringrt_size(rt_),
              .restarts = ringrt_restarts(rt_)};
    const auto expected = static_cast<int64_t>(options_.epochs);
    for (const int32_t times : seen_) {
        if (times < expected) s.samples_lost += static_cast<uint64_t>(expected - times);
        if (times > expected) s.samples_duplicated += static_cast<uint64_t>(times - expected);
    }
    return s;
}

void print(const Summary &s) {
    std::printf(
        "digits: %llu steps, loss %.4f, test accuracy %.2f %%, images lost %llu, seen twice %llu, "
        "restarts %d\n",
        static_cast<unsigned long long>(s.steps), s.loss, 100 * s.accuracy,
        static_cast<unsigned long long>(s.samples_lost),
        static_cast<unsigned long long>(s.samples_duplicated), s.restarts);
}

Exit train(const Options &options, const Split &data) {
    Training training(options, data);
    training.start();
    if (!training.run()) {
        if (training.first_rank()) std::printf("digits: saved, leaves for a resize\n");
        return kDone;
    }
    const Summary summary = training.finish();
    if (training.first_rank()) {
        print(summary);
        write_json(options.json, summary);
    }
    return summary.samples_lost + summary.samples_duplicated == 0 ? kDone : kSamplesWrong;
}

Exit guarded_train(const Options &options, const Split &data) {
    try {
        return train(options, data);
    } catch (const RingrtError &error) {
        std::fprintf(stderr, "digits: %s\n", error.what());
        return error.status == RINGRT_CORRUPT ? kDamaged : kFailed;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "digits: %s\n", error.what());
        return kFailed;
    }
}

}  // namespace
}  // namespace digits

int main(int argc, char **argv) {
    using namespace digits;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a job's log shows where it is
    Options options;
    if (const Parsed parsed = parse_options(argc, argv, options); parsed != Parsed::run)
        return parsed == Parsed::help ? kDone : kUsage;
    try {
        const Split data = split(load_csv(options.data), kTrainImages);
        return guarded_train(options, data);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "digits: %s\n", error.what());
        return kNoData;
    }
}
