// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/progress.h"

#include <algorithm>
#include <cmath>

namespace ringrt::job {
namespace {

constexpr double kToldMax = 1e15;  // steps left; the record's maximum

}  // namespace

Progress::Progress(const Settings &settings, int size)
    : batch_(settings.batch),
      size_(size),
      steps_total_(settings.steps_total),
      samples_total_(settings.samples_total) {}

void Progress::timed(double step_ms) { clock_.add(step_ms / per_step()); }

void Progress::advance(uint64_t steps) {
    steps_ += steps;
    samples_ += steps * samples_per_step(batch_, size_);
    if (told_left_)
        told_left_ = std::max(0.0, *told_left_ - static_cast<double>(steps) * per_step());
}

void Progress::resized(int size) {
    size_ = size;
    clock_ = {};
}

void Progress::go_to(uint64_t step, uint64_t samples, uint32_t global_batch) {
    steps_ = step;
    samples_ = samples;
    batch_.global_batch = global_batch;
}

Status Progress::set_batch(uint32_t global_batch) {
    if (global_batch == 0) return {RINGRT_INVALID_ARGUMENT, "global_batch is 0"};
    RINGRT_TRY(check_batch(batch_));
    batch_.global_batch = global_batch;
    return {};
}

Status Progress::set_steps_left(uint64_t steps) {
    if (steps > INT64_MAX) return {RINGRT_INVALID_ARGUMENT, "steps_left is larger than 2^63 - 1"};
    told_left_ = static_cast<double>(steps) * per_step();
    return {};
}

Status Progress::set_samples_left(uint64_t samples) {
    RINGRT_TRY(check_batch(batch_));
    told_left_ = static_cast<double>(samples) / batch_.reference_batch;
    return {};
}

void Progress::record_loss(double loss, double goal) {
    losses_.add(done() + per_step(), loss, goal);
}

double Progress::done() const {
    return batch_.reference_batch > 0 ? static_cast<double>(samples_) / batch_.reference_batch
                                      : static_cast<double>(steps_);
}

void Progress::restore(const checkpoint::Manifest &manifest) {
    steps_ = manifest.step;
    samples_ = manifest.samples;
    speeds_.clear();
    // The program may have changed its batch. If either run has none, the times are per step of the
    // job, as older libraries stored them.
    const bool in_batches = manifest.batch > 0 && batch_.reference_batch > 0;
    const double ratio =
        in_batches ? static_cast<double>(batch_.reference_batch) / manifest.batch : 1;
    for (const checkpoint::Speed &speed : manifest.speeds)
        speeds_[speed.gpus] =
            in_batches ? speed.step_ms * ratio
                       : speed.step_ms / reference_steps(batch_, static_cast<int>(speed.gpus));
    losses_.restore(manifest.losses, 1 / ratio);
}

void Progress::add_to(checkpoint::Meta &meta, bool with_losses) const {
    meta.samples = samples_;
    meta.batch = batch_.reference_batch;
    for (const auto &[gpus, step_ms] : speeds_) meta.speeds.push_back({gpus, step_ms});
    if (with_losses) meta.losses = losses_.text();
}

void Progress::note_speed() {
    const auto here = static_cast<uint32_t>(size_);
    if (clock_.step_ms() <= 0) return;
    speeds_[here] = clock_.step_ms();
    while (speeds_.size() > checkpoint::kSpeedsMax) {
        const auto smallest = speeds_.begin();
        speeds_.erase(smallest->first == here ? std::next(smallest) : smallest);
    }
}

// The program's own value comes first. Otherwise it is the configured rest, or less if the loss
// reaches its goal earlier. Without both, it is the loss estimate alone.
std::optional<double> Progress::left() {
    if (told_left_) return told_left_;
    const std::optional<double> by_loss = losses_.steps_left(done());
    if (steps_total_ == 0 && samples_total_ == 0) return by_loss;
    const double rest =
        samples_total_ > 0
            ? static_cast<double>(samples_total_ - std::min(samples_total_, samples_)) /
                  batch_.reference_batch
            : static_cast<double>(steps_total_ - std::min(steps_total_, steps_)) * per_step();
    return by_loss && losses_.has_goal() ? std::min(rest, *by_loss) : rest;
}

void Progress::add_to(records::Telemetry &out) {
    note_speed();
    out.step_ms = clock_.step_ms();
    if (const std::optional<double> rest = left())
        out.steps_left = std::llround(std::ceil(std::min(*rest, kToldMax)));
    out.batch = batch_.reference_batch;
    out.trained = samples_;
    for (const auto &[gpus, step_ms] : speeds_)
        if (out.samples < records::kSpeedSamplesMax)
            out.speed[static_cast<std::size_t>(out.samples++)] = {static_cast<int>(gpus), step_ms};
    for (records::SpeedSample &planned : out.planned)
        if (planned.gpus > 0) planned.step_ms /= reference_steps(batch_, planned.gpus);
}

}  // namespace ringrt::job
