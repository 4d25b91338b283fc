// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/gradient_reducer.h"

#include "libringrt/base/clock.h"
#include "libringrt/base/dtype.h"
#include "libringrt/base/thread.h"

namespace ringrt {

using namespace bucketing;

GradientReducer::GradientReducer(Communicator &communicator, GradientReducerConfig config)
    : communicator_(&communicator),
      config_(std::move(config)),
      element_bytes_(dtype_bytes(config_.dtype)),
      trace_(config_.trace_file, config_.trace_job,
             config_.trace_rank < 0 ? communicator.rank() : config_.trace_rank) {}

GradientReducer::~GradientReducer() {
    std::unique_lock lock(mutex_);
    stop_step(lock);
    ends_ = true;
    lock.unlock();
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    lock.lock();
    save_profile(lock);
}

// Another one only if the last one has thrown.
Status GradientReducer::have_thread() {
    if (thread_.joinable() && !has_thrown_) return {};
    if (thread_.joinable()) thread_.join();
    has_thrown_ = false;
    Status started = try_start_thread(
        thread_, [this] { run_steps(); },
        [this](ringrt_status_t status, const char *what) { fail(status, what); });
    if (!started.ok()) started.message = "gradients: " + started.message;
    return started;
}

void GradientReducer::stop_step(std::unique_lock<std::mutex> &lock) {
    stop_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !in_step_; });
    stop_ = false;
}

Status GradientReducer::failure(ringrt_status_t status, const std::string &what) const {
    return {status, what};
}

Status GradientReducer::check_id(int id) const {
    if (failed_.code != RINGRT_OK) return failed_;
    if (id < 0 || static_cast<size_t>(id) >= gradients_.size()) {
        return failure(RINGRT_INVALID_ARGUMENT, "there is no gradient " + std::to_string(id) +
                                                    ": " + std::to_string(gradients_.size()) +
                                                    " were registered");
    }
    return {};
}

Status GradientReducer::add(std::string name, uint64_t count, int *id) {
    std::lock_guard lock(mutex_);
    if (begun_) {
        return failure(RINGRT_INVALID_ARGUMENT,
                       "gradient " + name + ": register all before the first is ready");
    }
    if (gradients_.size() == kMaxGradients || count > kMaxGradientBytes / element_bytes_) {
        return failure(RINGRT_INVALID_ARGUMENT, "gradient " + name + ": too many, or too large");
    }
    if (Status thread = have_thread(); !thread.ok()) return thread;
    *id = static_cast<int>(gradients_.size());
    gradients_.push_back({.name = std::move(name), .bytes = count * element_bytes_});
    return {};
}

Status GradientReducer::begin_step(double now) {
    if (Status thread = have_thread(); !thread.ok()) return thread;
    begun_ = true;
    if (!learner_) {
        const int ranks = communicator_->size();
        learner_ = std::make_unique<Learner>(gradient_bytes(), ranks);
        if (recalled_ && !learner_->restore(*recalled_, samples_per_rank(ranks))) recalled_.reset();
        if (recalled_) plan_version_ = recalled_->plan_version;
    }
    if (!gpu_) learner_->calls().begin_backward(now);
    step_start_us_ = now;
    for (Gradient &gradient : gradients_) {
        gradient.ready = gradient.complete = gradient.waited = false;
        gradient.buffer = nullptr;
        gradient.bytes_to_gather = gradient.bytes;
        gradient.complete = gradient.bytes == 0;
    }
    waited_ = complete_ = 0;
    for (const Gradient &gradient : gradients_) complete_ += gradient.complete;
    backward_over_ = false;
    active_ = true;
    return {};
}

Status GradientReducer::take_place(const Gradient &gradient, Place place) {
    if (gradient.bytes == 0 || place_ == place) return {};
    if (place_)
        return failure(RINGRT_INVALID_ARGUMENT,
                       format_text(gpu_ ? "gradient %s is in host memory, others in GPU memory: a "
                                          "rank's gradients must all be in one"
                                        : "gradient %s is in GPU memory, others in host memory: a "
                                          "rank's gradients must all be in one",
                                   gradient.name.c_str()));
    if (place == Place::Gpu)
        gpu_ = std::make_unique<GpuStep>(
            *communicator_,
            GradientSum{config_.dtype, config_.op, communicator_->rank(), communicator_->size()},
            gradients_.size());
    place_ = place;
    return {};
}

Status GradientReducer::ready(int id, void *buffer, Place place) {
    std::lock_guard lock(mutex_);
    if (Status bad = check_id(id); bad.code != RINGRT_OK) return bad;
    const double now = now_us();
    Gradient &gradient = gradients_[static_cast<size_t>(id)];
    if (buffer == nullptr && gradient.bytes > 0) {
        return failure(RINGRT_INVALID_ARGUMENT,
                       "gradient " + gradient.name + ": its buffer is NULL");
    }
    if (Status bad = take_place(gradient, place); !bad.ok()) return bad;
    Gpu::Event marked;
    if (gpu_) {
        if (Status status = gpu_->mark(&marked); !status.ok()) return status;
    }
    const bool begins = !active_;
    if (begins) {
        if (Status begun = begin_step(now); !begun.ok()) return begun;
    }
    if (backward_over_ || gradient.ready) {
        return failure(RINGRT_INVALID_ARGUMENT,
                       "gradient " + gradient.name +
                           " is ready again, or late: wait for every gradient "
                           "of a step before the next step's first is ready");
    }
    gradient.ready = true;
    gradient.buffer = static_cast<std::byte *>(buffer);
    if (gpu_)
        gpu_->ready(static_cast<uint32_t>(id), std::move(marked));
    else
        learner_->calls().ready(static_cast<uint32_t>(id), now);
    if (trace_.on() && !gpu_) trace_.add(Trace::gradients, gradient.name, now, now);
    if (begins || awaited_ == id) changed_.notify_all();  // notifying costs more than the rest
    return {};
}

Status GradientReducer::wait(int id, const void **sum) {
    std::unique_lock lock(mutex_);
    if (Status bad = check_id(id); bad.code != RINGRT_OK) return bad;
    Gradient &gradient = gradients_[static_cast<size_t>(id)];
    const double start = now_us();
    if (active_ && !gradient.waited) {
        if (waited_ > 0 && !gpu_) learner_->calls().begin_wait(start);
        if (!backward_over_) {
            backward_over_ = true;
            changed_.notify_all();
        }
        changed_.wait(lock, [&] { return gradient.complete || failed_.code != RINGRT_OK; });
        if (failed_.code != RINGRT_OK) return failed_;
        if (gpu_) {
            if (Status waits = gpu_->wait(static_cast<uint32_t>(id)); !waits.ok()) return waits;
        } else {
            const double end = now_us();
            if (trace_.on()) trace_.add(Trace::waits, gradient.name, start, end);
            learner_->calls().end_wait(static_cast<uint32_t>(id), end);
        }
        gradient.waited = true;
        if (++waited_ == gradients_.size()) end_step();
    }
    if (sum != nullptr) *sum = gradient.buffer;
    return {};
}

void GradientReducer::end_step() {
    if (gpu_)
        gpu_->end();
    else
        learner_->end_step();
    ++steps_ended_;
    active_ = false;
    changed_.notify_all();
}

bool GradientReducer::idle() const {
    std::lock_guard lock(mutex_);
    return !active_;
}

void GradientReducer::discard_lost_step() {
    std::lock_guard lock(mutex_);
    if (!active_ || (failed_.code != RINGRT_PEER_LOST && failed_.code != RINGRT_TIMEOUT)) return;
    for (Gradient &gradient : gradients_) gradient.buffer = nullptr;
    active_ = false;
}

void GradientReducer::use(Communicator &communicator) {
    std::unique_lock lock(mutex_);
    stop_step(lock);
    save_profile(lock);
    if (learner_)
        recalled_ = learner_->learned(plan_version_, samples_per_rank(communicator_->size()));
    learner_.reset();
    plan_version_ = speeds_version_ = steps_ended_ = steps_run_ = 0;
    speeds_.clear();
    active_ = false;
    failed_ = {};
    gpu_.reset();  // it uses the present communicator
    place_.reset();
    communicator_ = &communicator;
}

std::string GradientReducer::layout() const {
    std::lock_guard lock(mutex_);
    std::string out =
        format_text("%d %d", static_cast<int>(config_.dtype), static_cast<int>(config_.op));
    for (const Gradient &gradient : gradients_)
        out +=
            format_text(" %llu ", static_cast<unsigned long long>(gradient.bytes)) + gradient.name;
    return out;
}

GradientReducer::State GradientReducer::state() const {
    std::lock_guard lock(mutex_);
    if (!learner_) return {};
    return {learner_->steps(), plan_version_, measured(), learner_->link(), plan_, cpu_us_};
}

void GradientReducer::restore(std::string_view text) {
    std::lock_guard lock(mutex_);
    if (!learner_) recalled_ = parse_learned(text);
}

std::string GradientReducer::learned() const {
    std::unique_lock lock(mutex_);
    if (!learner_) return recalled_ ? format_learned(*recalled_) : std::string();
    const Learned out = learner_->learned(plan_version_, samples_per_rank(communicator_->size()));
    lock.unlock();
    return format_learned(out);
}

std::vector<GradientReducer::PlannedSpeed> GradientReducer::planned_speeds() const {
    std::lock_guard lock(mutex_);
    return speeds_;
}

}  // namespace ringrt
