// SPDX-License-Identifier: BSD-3-Clause
// The reducer's thread: runs a step's transfers in order.
#include <bit>
#include <new>

#include "libringrt/base/clock.h"
#include "libringrt/gradients/gradient_reducer.h"

namespace ringrt {

constexpr auto kGpuNap = std::chrono::microseconds(100);  // between two looks at the GPU

// The thread has thrown: this rank's calls fail, and the abort informs the other ranks.
void GradientReducer::fail(ringrt_status_t status, const char *what) {
    communicator_->abort();
    {
        const std::scoped_lock lock(mutex_);
        has_thrown_ = true;
        in_step_ = false;
        failed_.code = status;
        changed_.notify_all();  // first: the message may fail to allocate
        failed_.message = std::string("gradients: ") + what;
    }
}

bool GradientReducer::has_step() const {
    return active_ && !stop_ && failed_.ok() && steps_ended_ == steps_run_;
}

void GradientReducer::run_steps() {
    std::unique_lock lock(mutex_);
    while (true) {
        in_step_ = false;
        if (stop_) changed_.notify_all();
        changed_.wait(lock, [this] { return ends_ || has_step(); });
        if (ends_) return;
        in_step_ = true;
        const double begun = thread_cpu_us();
        network_cpu_us_ = 0;
        ringrt_status_t status = steps_run_ == 0 ? make_first_plan(lock) : RINGRT_OK;
        if (status == RINGRT_OK) status = run_step(lock);
        cpu_us_ += thread_cpu_us() - begun - network_cpu_us_;
        if (status != RINGRT_OK) {
            failed_ = {status, "gradients: " + communicator_->last_error()};
            changed_.notify_all();
        }
        if (status != RINGRT_OK || stop_) continue;
        ++steps_run_;
        if (communicator_->rank() == 0) plan_a_speed(lock);
        if (std::has_single_bit(steps_run_)) save_profile(lock);
    }
}

ringrt_status_t GradientReducer::run_step(std::unique_lock<std::mutex> &lock) {
    if (communicator_->size() == 1) {
        changed_.wait(lock, [&] { return stop_ || backward_over_; });
        for (uint32_t id = 0; id < gradients_.size(); ++id) {
            const ringrt_status_t status = use_zero_buffer(id);
            if (status != RINGRT_OK) return status;
            gradients_[id].complete = true;
        }
        changed_.notify_all();
        return learn_from_gpu(lock);
    }
    const uint64_t steps = learner_->steps();
    const bool changes = steps > 0 ? steps % kAgreeEvery == 0 : plans_at_first_;
    if (config_.plan.blocks.empty() && changes) {
        lock.unlock();
        const ringrt_status_t status = agree_on_plan();
        lock.lock();
        if (status != RINGRT_OK) return status;
    }
    for (size_t i = 0; i < layout_.transfers.size(); ++i) {
        const ringrt_status_t status = run_transfer(i, lock);
        if (status != RINGRT_OK || stop_) return status;
    }
    if (sums_are_awaited()) {
        const ringrt_status_t status = await_sums(lock);
        if (status != RINGRT_OK || stop_) return status;
    }
    return learn_from_gpu(lock);
}

// Ranks that continue after a loss must not have used a sum that NCCL had not finished, so the
// program's stream gets no work on it before.
ringrt_status_t GradientReducer::await_sums(std::unique_lock<std::mutex> &lock) {
    for (bool there = false; !there;) {
        if (stop_) return RINGRT_OK;
        const ringrt_status_t status = gpu_->summed(&there);
        if (status != RINGRT_OK) return status;
        if (!there) changed_.wait_for(lock, kGpuNap);
    }
    for (Gradient &gradient : gradients_) gradient.complete = true;
    changed_.notify_all();
    return RINGRT_OK;
}

ringrt_status_t GradientReducer::run_transfer(size_t number, std::unique_lock<std::mutex> &lock) {
    const Transfer &transfer = layout_.transfers[number];
    if (transfer.reduces && !wait_until_ready(transfer, lock)) return RINGRT_OK;
    if (!in_stream_order() && !wait_until_due(transfer, lock)) return RINGRT_OK;
    const ringrt_status_t zeros = use_zero_buffers(transfer);
    if (zeros != RINGRT_OK) return zeros;
    point_at_buffers(transfer);
    if (gpu_) return run_gpu_transfer(number, lock);
    lock.unlock();
    const double start = now_us();
    const ringrt_status_t status = transfer.reduces ? reduce(transfer) : gather(transfer);
    const double end = now_us();
    lock.lock();
    if (status != RINGRT_OK) return status;
    learner_->sent(static_cast<double>(transfer.bytes), end - start);
    if (trace_.on()) {
        trace_.add(Trace::link,
                   (transfer.reduces ? "reduce-scatter " : "all-gather ") +
                       std::to_string(transfer.bytes) + " bytes",
                   start, end);
    }
    if (!transfer.reduces) complete(transfer);
    return RINGRT_OK;
}

// A missing gradient counts as zero.
ringrt_status_t GradientReducer::use_zero_buffer(uint32_t id) {
    Gradient &gradient = gradients_[id];
    if (gradient.buffer != nullptr || gradient.bytes == 0) return RINGRT_OK;
    if (gpu_) return gpu_->zeros(id, gradient.bytes, &gradient.buffer);
    gradient.zero_buffer.assign(gradient.bytes, std::byte{0});
    gradient.buffer = gradient.zero_buffer.data();
    return RINGRT_OK;
}

ringrt_status_t GradientReducer::use_zero_buffers(const Transfer &transfer) {
    for (const uint32_t atom : transfer.atoms) {
        const ringrt_status_t status = use_zero_buffer(layout_.atoms[atom].gradient);
        if (status != RINGRT_OK) return status;
    }
    return RINGRT_OK;
}

bool GradientReducer::wait_until_ready(const Transfer &transfer,
                                       std::unique_lock<std::mutex> &lock) {
    for (uint32_t atom : transfer.atoms) {
        const uint32_t id = layout_.atoms[atom].gradient;
        Gradient &gradient = gradients_[id];
        awaited_ = static_cast<int>(id);
        changed_.wait(lock, [&] { return stop_ || gradient.ready || backward_over_; });
        awaited_ = -1;
        if (stop_) return false;
    }
    return true;
}

bool GradientReducer::wait_until_due(const Transfer &transfer, std::unique_lock<std::mutex> &lock) {
    for (double left = 1; left > 0 && !stop_;) {
        left = transfer.not_before_us - (now_us() - step_start_us_);
        if (left > 0) changed_.wait_for(lock, std::chrono::duration<double, std::micro>(left));
    }
    return !stop_;
}

// Sets the pointers of the transfer's gradients; the others are stale and unused.
void GradientReducer::point_at_buffers(const Transfer &transfer) {
    buffers_.resize(gradients_.size());
    for (uint32_t atom : transfer.atoms) {
        const uint32_t id = layout_.atoms[atom].gradient;
        buffers_[id] = gradients_[id].buffer;
    }
}

// With NCCL, a transfer is complete when it is in the library's stream.
ringrt_status_t GradientReducer::run_gpu_transfer(size_t number,
                                                  std::unique_lock<std::mutex> &lock) {
    const Transfer &transfer = layout_.transfers[number];
    lock.unlock();
    ringrt_status_t status = gpu_->open(buffers_[layout_.atoms[transfer.atoms.front()].gradient]);
    const double start = now_us();
    if (status == RINGRT_OK)
        status =
            gpu_->mirrored() ? run_mirrored(transfer) : gpu_->enqueue(layout_, number, buffers_);
    const double end = now_us();
    lock.lock();
    if (gpu_->mirrored()) learner_->sent(static_cast<double>(transfer.bytes), end - start);
    if (status == RINGRT_OK && !transfer.reduces) complete(transfer);
    return status;
}

ringrt_status_t GradientReducer::run_mirrored(const Transfer &transfer) {
    const std::vector<std::byte *> on_gpu = buffers_;
    for (const uint32_t atom : transfer.atoms) {
        const uint32_t id = layout_.atoms[atom].gradient;
        buffers_[id] = gpu_->mirror(id, gradients_[id].bytes);
    }
    if (!transfer.reduces) {
        const ringrt_status_t status = gather(transfer);
        return status == RINGRT_OK ? gpu_->from_mirror(layout_, transfer, on_gpu) : status;
    }
    const ringrt_status_t status = gpu_->to_mirror(layout_, transfer, on_gpu);
    return status == RINGRT_OK ? reduce(transfer) : status;
}

// The GPU reaches the step's end after the program does. Waiting here does not delay the next step,
// whose gradients the GPU has yet to compute.
ringrt_status_t GradientReducer::learn_from_gpu(std::unique_lock<std::mutex> &lock) {
    if (!gpu_) return RINGRT_OK;
    const uint64_t step = learner_->steps();
    changed_.wait(lock, [&] { return stop_ || steps_ended_ > step; });
    for (bool over = false; !over;) {
        if (stop_) return RINGRT_OK;
        const ringrt_status_t status = gpu_->over(&over);
        if (status != RINGRT_OK) return status;
        if (!over) changed_.wait_for(lock, kGpuNap);
    }
    std::vector<std::string> names;
    for (const Gradient &gradient : gradients_) names.push_back(gradient.name);
    gpu_->report(*learner_, trace_, names);
    return RINGRT_OK;
}

ringrt_status_t GradientReducer::reduce(const Transfer &transfer) {
    const int ranks = communicator_->size();
    stage(layout_, transfer, buffers_, staging_.data(), ranks);
    const Ranges shares =
        ranges_of(layout_, transfer, buffers_, staging_.data(), zeros_.data(), ranks);
    const size_t count = shares.bytes() / element_bytes_;
    std::byte *own = own_.data() + layout_.atoms[transfer.atoms.front()].shard_offset;
    const double begun = thread_cpu_us();
    const ringrt_status_t status =
        communicator_->reduce_scatter(shares, own, count, config_.dtype, config_.op);
    network_cpu_us_ += thread_cpu_us() - begun;
    return status;
}

ringrt_status_t GradientReducer::gather(const Transfer &transfer) {
    const int ranks = communicator_->size();
    const Ranges mine = own_ranges(layout_, transfer, own_.data());
    const Ranges shares =
        ranges_of(layout_, transfer, buffers_, staging_.data(), discarded_.data(), ranks);
    const double begun = thread_cpu_us();
    const ringrt_status_t status = communicator_->all_gather(mine, shares, transfer.share_bytes);
    network_cpu_us_ += thread_cpu_us() - begun;
    if (status == RINGRT_OK) unstage(layout_, transfer, buffers_, staging_.data(), ranks);
    return status;
}

void GradientReducer::complete(const Transfer &transfer) {
    const bool in_one = plan_.barrier || config_.whole_steps;
    for (uint32_t number : transfer.atoms) {
        Gradient &gradient = gradients_[layout_.atoms[number].gradient];
        gradient.bytes_to_gather -= layout_.atoms[number].bytes;
        if (gradient.bytes_to_gather > 0) continue;
        // With a barrier, no sum may be used before all are complete.
        gradient.complete = !in_one;
        ++complete_;
    }
    if (in_one && complete_ == gradients_.size() && !sums_are_awaited()) {
        for (Gradient &gradient : gradients_) gradient.complete = true;
    }
    changed_.notify_all();
}

}  // namespace ringrt
