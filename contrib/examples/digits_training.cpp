// SPDX-License-Identifier: BSD-3-Clause
// A malleable training program: a small network on real data, data-parallel over ringrt's C API.
//
// The lines that make it malleable are marked (1) to (4); those that overlap the sums of gradients
// with the computation are marked (a) to (c). Everything else is ordinary training code. One
// iteration of the loop is
//
//     forward pass      waits for each layer's gradient of the previous step and updates the layer
//     ringrt_step()     all layers are updated: that step is finished
//     backward pass     hands over each layer's gradient when it is computed
#include "digits_training.h"

#include <algorithm>

namespace digits {
namespace {

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

}  // namespace

Training::Training(const Options &options, const Split &data)
    : options_(options),
      data_(data),
      model_(widths(options), options.seed),
      sums_(model_.parameters().size(), data.train.size()),
      velocity_(model_.parameters().size()),
      seen_(data.train.size()) {}

// (1) Join the other ranks and continue from the last checkpoint, if there is one.
void Training::start() {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.global_batch = options_.batch_per_gpu > 0 ? options_.batch_per_gpu : options_.batch;
    config.batch_rule =
        options_.batch_per_gpu > 0 ? RINGRT_FIXED_BATCH_PER_GPU : RINGRT_FIXED_GLOBAL_BATCH;
    config.save_interval_s = options_.save_interval_s;
    config.samples_total = samples_total();
    config.live_resize = options_.live_resize ? 1 : 0;
    const ringrt_status_t status = ringrt_init(&rt_, &config);
    check(nullptr, status, "ringrt_init");
    register_buffers();
    if (!options_.one_allreduce) register_gradients();
    restore();
}

// (2) Register everything that the training needs to continue, the same on all ranks.
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
    if (options_.live_resize)
        check(rt_, ringrt_register(rt_, "loss", &loss_, RINGRT_FLOAT64, 1, &one),
              "ringrt_register");
}

// (a) Each layer's gradient is summed separately, in the order in which the forward pass needs
// them. The values that only the step's end needs come last. Identifiers count up from 0, so a
// layer's number is its identifier.
void Training::register_gradients() {
    int id = 0;
    for (std::size_t layer = 0; layer < model_.layers(); ++layer)
        check(rt_,
              ringrt_gradient_register(rt_, ("layer" + std::to_string(layer)).c_str(),
                                       model_.of_layer(layer, sums_.gradient()).size(),
                                       RINGRT_FLOAT32, RINGRT_SUM, &id),
              "ringrt_gradient_register");
    check(rt_,
          ringrt_gradient_register(rt_, "images", sums_.counts().size(), RINGRT_FLOAT32, RINGRT_SUM,
                                   &id),
          "ringrt_gradient_register");
}

void Training::restore() {
    const ringrt_status_t status = ringrt_restore(rt_, &step_);
    if (status != RINGRT_NOT_FOUND) check(rt_, status, "ringrt_restore");
    if (!first_rank()) return;
    std::printf("digits: %d GPU%s, restart %d, %s step %llu", ringrt_size(rt_),
                ringrt_size(rt_) == 1 ? "" : "s", ringrt_restarts(rt_),
                status == RINGRT_OK ? "continues after" : "starts at",
                static_cast<unsigned long long>(step_));
    if (options_.device_ms_per_sample > 0)
        std::printf("; no GPU: each step lasts %g ms per image of a rank's share",
                    options_.device_ms_per_sample);
    std::printf("\n");
}

// (3) This rank's images of the step depend on the number of ranks; the step's images do not. So
// every image is used once per epoch over any sequence of sizes.
void Training::start_batch() {
    check(rt_, ringrt_batch(rt_, &batch_), "ringrt_batch");
    samples_ = std::min(batch_.global, samples_left());
    const uint64_t images = data_.train.size();
    std::vector<Image> mine;
    my_images_.clear();
    for (uint64_t i = batch_.first; i < std::min(batch_.first + batch_.count, samples_); ++i) {
        const uint64_t at = static_cast<uint64_t>(position_) + summing_ + i;
        const uint64_t image = ringrt_sample(options_.seed, at / images, images, at % images);
        my_images_.push_back(image);
        mine.push_back({data_.train.image(image), data_.train.labels[image]});
    }
    model_.start(std::move(mine));
}

// (b) A layer waits only for its own gradient of the previous step. The sums are bit-identical on
// all ranks, and so are the parameters.
void Training::forward() {
    device_.begin_pass();
    for (std::size_t layer = 0; layer < model_.layers(); ++layer) {
        if (summing_ > 0) {
            wait(layer);
            update(layer);
        }
        model_.forward(layer);
        device_.works(device_ms(layer));
    }
    if (summing_ > 0) wait(model_.layers());
}

// (c) The last layer's gradient is ready first, and is sent while the others are computed.
void Training::backward() {
    device_.begin_pass();
    count_batch();
    ready(model_.layers(), sums_.counts());
    for (std::size_t layer = model_.layers(); layer-- > 0;) {
        const std::span<float> gradient = model_.of_layer(layer, sums_.gradient());
        std::fill(gradient.begin(), gradient.end(), 0.0F);
        model_.backward(layer, gradient);
        device_.works(2 * device_ms(layer));
        ready(layer, gradient);
    }
    if (options_.one_allreduce)
        check(rt_,
              ringrt_allreduce(sums_.all.data(), sums_.all.data(), sums_.all.size(), RINGRT_FLOAT32,
                               RINGRT_SUM, rt_),
              "ringrt_allreduce");
    summing_ = samples_;
}

void Training::count_batch() {
    std::fill(sums_.counts().begin(), sums_.counts().end(), 0.0F);
    for (const uint64_t image : my_images_) sums_.used()[image] += 1;
    sums_.loss() = static_cast<float>(model_.loss());
}

// The library owns the sums until wait() has returned.
void Training::ready(std::size_t id, std::span<float> sums) {
    if (options_.one_allreduce) return;
    check(rt_, ringrt_gradient_ready(rt_, static_cast<int>(id), sums.data()),
          "ringrt_gradient_ready");
}

void Training::wait(std::size_t id) {
    if (options_.one_allreduce) return;
    const Clock::time_point start = Clock::now();
    check(rt_, ringrt_gradient_wait(rt_, static_cast<int>(id), nullptr), "ringrt_gradient_wait");
    device_.stalled_since(start);
}

// A layer's part of the pass over this rank's images: one third forward, two thirds backward.
double Training::device_ms(std::size_t layer) {
    const auto part = static_cast<double>(model_.of_layer(layer, sums_.all).size()) /
                      static_cast<double>(sums_.n);
    return options_.device_ms_per_sample * static_cast<double>(my_images_.size()) * part / 3;
}

void Training::update(std::size_t layer) {
    const auto scale = static_cast<float>(1.0 / static_cast<double>(summing_));
    const auto rate = static_cast<float>(options_.learning_rate * batch_.lr_scale),
               keep = static_cast<float>(options_.momentum);
    const std::span<float> parameters = model_.of_layer(layer, model_.parameters()),
                           gradient = model_.of_layer(layer, sums_.gradient()),
                           velocity = model_.of_layer(layer, velocity_);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        velocity[i] = keep * velocity[i] + scale * gradient[i];
        parameters[i] -= rate * velocity[i];
    }
}

void Training::count_used() {
    const std::span<const float> used = sums_.used();
    for (std::size_t i = 0; i < seen_.size(); ++i) seen_[i] += static_cast<int32_t>(used[i]);
}

void Training::finish_step() {
    loss_ = static_cast<double>(sums_.loss()) / static_cast<double>(summing_);
    count_used();
    position_ += static_cast<int64_t>(summing_);
    summing_ = 0;
    ++step_;
}

// (4) Report every finished step to ringrt: it may save, and may return that the job leaves.
ringrt_action_t Training::end_step() {
    finish_step();
    log_step();
    ringrt_action_t action = RINGRT_CONTINUE;
    check(rt_, ringrt_step(rt_, step_, &action), "ringrt_step");
    return action;
}

void Training::log_step() {
    const auto images = static_cast<double>(data_.train.size());
    if (log_)
        log_->append({.step = step_,
                      .epoch = static_cast<double>(position_) / images,
                      .loss = loss_,
                      .gpus = ringrt_size(rt_),
                      .restart = ringrt_restarts(rt_)});
}

// Between the forward and the backward pass, all layers are updated and no gradient is under way.
bool Training::run_overlapped() {
    for (;;) {
        start_batch();
        forward();
        if (summing_ > 0 && end_step() == RINGRT_LEAVE) return false;
        if (samples_ == 0) return true;
        backward();
    }
}

bool Training::run() {
    if (first_rank()) log_.emplace(options_.loss_csv);
    if (!(options_.live_resize ? run_in_place() : run_overlapped())) return false;
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

}  // namespace digits
