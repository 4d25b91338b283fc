// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/exchange/exchange.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <ctime>

#include "libringrt/exchange/packed_plan.h"
#include "libringrt/grouping/rules.h"
#include "libringrt/grouping/timeline.h"

namespace ringrt {

using namespace grouping;

namespace {

constexpr double kGuessGbps = 10, kGuessAlphaUs = 50;
constexpr uint64_t kMostWords = uint64_t{1} << 24;
constexpr int kMostPlannedRanks = 64;

double now_us() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::micro>(now).count();
}

// Of this thread.
double cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

uint64_t bytes_of(ringrt_dtype_t dtype) {
    switch (dtype) {
        case RINGRT_FLOAT64:
        case RINGRT_INT64:
            return 8;
        case RINGRT_FLOAT16:
        case RINGRT_BFLOAT16:
            return 2;
        case RINGRT_UINT8:
            return 1;
        case RINGRT_FLOAT32:
        case RINGRT_INT32:
            return 4;
    }
    return 4;
}

}  // namespace

Exchange::Exchange(Communicator &communicator, ExchangeConfig config)
    : communicator_(communicator),
      config_(std::move(config)),
      element_bytes_(bytes_of(config_.dtype)),
      trace_(config_.trace_file, communicator.rank()),
      thread_([this] { run(); }) {}

Exchange::~Exchange() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

ExchangeResult Exchange::failure(ringrt_status_t status, const std::string &what) const {
    return {status, what};
}

ExchangeResult Exchange::check_id(int id) const {
    if (failed_.status != RINGRT_OK) return failed_;
    if (id < 0 || static_cast<size_t>(id) >= gradients_.size()) {
        return failure(RINGRT_INVALID_ARGUMENT, "there is no gradient " + std::to_string(id) +
                                                    ": " + std::to_string(gradients_.size()) +
                                                    " were registered");
    }
    return {};
}

ExchangeResult Exchange::add(std::string name, uint64_t count, int *id) {
    std::lock_guard lock(mutex_);
    if (learner_) {
        return failure(RINGRT_INVALID_ARGUMENT,
                       "gradient " + name + ": register all before the first is ready");
    }
    if (gradients_.size() == kMaxGradients || count > kMaxGradientBytes / element_bytes_) {
        return failure(RINGRT_INVALID_ARGUMENT, "gradient " + name + ": too many, or too large");
    }
    *id = static_cast<int>(gradients_.size());
    gradients_.push_back({.name = std::move(name), .bytes = count * element_bytes_});
    return {};
}

// Nothing was measured yet: sizes, and times as if each gradient took as long as any other.
Profile Exchange::sizes_only() const {
    Profile out;
    double ready = 1000.0 * static_cast<double>(gradients_.size());
    for (const Gradient &gradient : gradients_) {
        out.gradients.push_back({{}, gradient.bytes, 500, ready});
        ready -= 1000;
    }
    return out;
}

std::vector<uint64_t> Exchange::gradient_bytes() const {
    std::vector<uint64_t> bytes;
    for (const Gradient &gradient : gradients_) bytes.push_back(gradient.bytes);
    return bytes;
}

double Exchange::samples_per_rank(int ranks) const {
    return config_.samples_per_rank ? config_.samples_per_rank(ranks) : 0;
}

void Exchange::reset_plan(Plan plan) {
    plan_ = std::move(plan);
    layout_ = lay_out(plan_, gradient_bytes(), communicator_.size(), element_bytes_);
    const auto ranks = static_cast<uint64_t>(communicator_.size());
    own_.resize(layout_.own_bytes);
    staging_.resize(layout_.most_staged_share_bytes * ranks);
    const uint64_t padding = staged_below_bytes(communicator_.size(), element_bytes_);
    zeros_.assign(padding, std::byte{0});
    unread_.resize(padding);
}

void Exchange::begin_step(double now) {
    if (!learner_) {
        const int ranks = communicator_.size();
        learner_ = std::make_unique<Learner>(gradient_bytes(), ranks);
        if (recalled_ && !learner_->recall(*recalled_, samples_per_rank(ranks))) recalled_.reset();
        if (recalled_) plan_version_ = recalled_->plan_version;
        const Network guess{kGuessGbps, kGuessAlphaUs, ranks};
        reset_plan(config_.plan.blocks.empty() ? predictive(sizes_only(), guess) : config_.plan);
    }
    learner_->calls().begin_backward(now);
    step_start_us_ = now;
    for (Gradient &gradient : gradients_) {
        gradient.ready = gradient.complete = gradient.waited = false;
        gradient.buffer = nullptr;
        gradient.to_gather = gradient.bytes;
        gradient.complete = gradient.bytes == 0;
    }
    waited_ = complete_ = 0;
    for (const Gradient &gradient : gradients_) complete_ += gradient.complete;
    backward_over_ = false;
    active_ = true;
}

ExchangeResult Exchange::ready(int id, void *buffer) {
    std::lock_guard lock(mutex_);
    if (ExchangeResult bad = check_id(id); bad.status != RINGRT_OK) return bad;
    const double now = now_us();
    Gradient &gradient = gradients_[static_cast<size_t>(id)];
    if (buffer == nullptr && gradient.bytes > 0) {
        return failure(RINGRT_INVALID_ARGUMENT,
                       "gradient " + gradient.name + ": its buffer is NULL");
    }
    if (!active_) begin_step(now);
    if (backward_over_ || gradient.ready) {
        return failure(RINGRT_INVALID_ARGUMENT,
                       "gradient " + gradient.name +
                           " is ready again, or late: wait for every gradient "
                           "of a step before the next step's first is ready");
    }
    gradient.ready = true;
    gradient.buffer = static_cast<std::byte *>(buffer);
    learner_->calls().ready(static_cast<uint32_t>(id), now);
    if (trace_.on()) trace_.add(Trace::gradients, gradient.name, now, now);
    changed_.notify_all();
    return {};
}

ExchangeResult Exchange::wait(int id, const void **sum) {
    std::unique_lock lock(mutex_);
    if (ExchangeResult bad = check_id(id); bad.status != RINGRT_OK) return bad;
    Gradient &gradient = gradients_[static_cast<size_t>(id)];
    const double start = now_us();
    if (active_ && !gradient.waited) {
        if (waited_ > 0) learner_->calls().begin_wait(start);
        if (!backward_over_) {
            backward_over_ = true;
            changed_.notify_all();
        }
        changed_.wait(lock, [&] { return gradient.complete || failed_.status != RINGRT_OK; });
        if (failed_.status != RINGRT_OK) return failed_;
        const double end = now_us();
        if (trace_.on()) trace_.add(Trace::waits, gradient.name, start, end);
        learner_->calls().end_wait(static_cast<uint32_t>(id), end);
        gradient.waited = true;
        if (++waited_ == gradients_.size()) end_step();
    }
    if (sum != nullptr) *sum = gradient.buffer;
    return {};
}

void Exchange::end_step() {
    learner_->end_step();
    active_ = false;
    changed_.notify_all();
}

bool Exchange::idle() const {
    std::lock_guard lock(mutex_);
    return !active_;
}

Exchange::State Exchange::state() const {
    std::lock_guard lock(mutex_);
    if (!learner_) return {};
    return {learner_->steps(), plan_version_, learner_->profile(),
            learner_->link(),  plan_,         cpu_us_};
}

void Exchange::recall(std::string_view text) {
    std::lock_guard lock(mutex_);
    if (!learner_) recalled_ = parse_learned(text);
}

std::string Exchange::learned() const {
    std::unique_lock lock(mutex_);
    if (!learner_) return {};
    const Learned out = learner_->learned(plan_version_, samples_per_rank(communicator_.size()));
    lock.unlock();
    return format_learned(out);
}

std::vector<Exchange::PlannedSpeed> Exchange::planned_speeds() const {
    std::lock_guard lock(mutex_);
    return speeds_;
}

// ---- the thread -------------------------------------------------------------------------------

void Exchange::run() {
    std::unique_lock lock(mutex_);
    uint64_t next = 0;  // the step to run
    while (true) {
        changed_.wait(lock, [&] { return stop_ || (active_ && learner_->steps() == next); });
        if (stop_) return;
        const double begun = cpu_us();
        network_cpu_us_ = 0;
        const ringrt_status_t status = run_step(lock);
        cpu_us_ += cpu_us() - begun - network_cpu_us_;
        if (stop_ && status == RINGRT_OK) return;
        if (status != RINGRT_OK) {
            failed_ = {status, "gradients: " + communicator_.last_error()};
            changed_.notify_all();
            return;
        }
        ++next;
        if (communicator_.rank() == 0) plan_a_speed(lock);
    }
}

ringrt_status_t Exchange::run_step(std::unique_lock<std::mutex> &lock) {
    if (communicator_.size() == 1) {
        changed_.wait(lock, [&] { return stop_ || backward_over_; });
        for (Gradient &gradient : gradients_) {
            give_stand_in(gradient);
            gradient.complete = true;
        }
        changed_.notify_all();
        return RINGRT_OK;
    }
    const uint64_t steps = learner_->steps();
    const bool changes = steps > 0 ? steps % kAgreeEvery == 0 : recalled_.has_value();
    if (config_.plan.blocks.empty() && changes) {
        lock.unlock();
        const ringrt_status_t status = agree_on_plan();
        lock.lock();
        if (status != RINGRT_OK) return status;
    }
    for (const Transfer &transfer : layout_.transfers) {
        if (transfer.reduces && !wait_until_ready(transfer, lock)) return RINGRT_OK;
        if (!wait_until_due(transfer, lock)) return RINGRT_OK;
        const std::vector<std::byte *> to_use = buffers();
        lock.unlock();
        const double start = now_us();
        const ringrt_status_t status =
            transfer.reduces ? reduce(transfer, to_use) : gather(transfer, to_use);
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
    }
    return RINGRT_OK;
}

// A gradient that is missing counts as zero.
void Exchange::give_stand_in(Gradient &gradient) {
    if (gradient.buffer != nullptr) return;
    gradient.stand_in.assign(gradient.bytes, std::byte{0});
    gradient.buffer = gradient.stand_in.data();
}

bool Exchange::wait_until_ready(const Transfer &transfer, std::unique_lock<std::mutex> &lock) {
    for (uint32_t atom : transfer.atoms) {
        Gradient &gradient = gradients_[layout_.atoms[atom].gradient];
        changed_.wait(lock, [&] { return stop_ || gradient.ready || backward_over_; });
        if (stop_) return false;
        give_stand_in(gradient);
    }
    return true;
}

bool Exchange::wait_until_due(const Transfer &transfer, std::unique_lock<std::mutex> &lock) {
    for (double left = 1; left > 0 && !stop_;) {
        left = transfer.not_before_us - (now_us() - step_start_us_);
        if (left > 0) changed_.wait_for(lock, std::chrono::duration<double, std::micro>(left));
    }
    return !stop_;
}

// By gradient; null for those that are not in the transfer and have none yet.
std::vector<std::byte *> Exchange::buffers() const {
    std::vector<std::byte *> out;
    out.reserve(gradients_.size());
    for (const Gradient &gradient : gradients_) out.push_back(gradient.buffer);
    return out;
}

ringrt_status_t Exchange::reduce(const Transfer &transfer,
                                 const std::vector<std::byte *> &buffers) {
    const int ranks = communicator_.size();
    stage(layout_, transfer, buffers, staging_.data(), ranks);
    const Ranges shares =
        ranges_of(layout_, transfer, buffers, staging_.data(), zeros_.data(), ranks);
    const size_t count = shares.bytes() / element_bytes_;
    std::byte *own = own_.data() + layout_.atoms[transfer.atoms.front()].own_at;
    const double begun = cpu_us();
    const ringrt_status_t status =
        communicator_.reduce_scatter(shares, own, count, config_.dtype, config_.op);
    network_cpu_us_ += cpu_us() - begun;
    return status;
}

ringrt_status_t Exchange::gather(const Transfer &transfer,
                                 const std::vector<std::byte *> &buffers) {
    const int ranks = communicator_.size();
    const Ranges mine = own_ranges(layout_, transfer, own_.data());
    const Ranges shares =
        ranges_of(layout_, transfer, buffers, staging_.data(), unread_.data(), ranks);
    const double begun = cpu_us();
    const ringrt_status_t status = communicator_.all_gather(mine, shares, transfer.share_bytes);
    network_cpu_us_ += cpu_us() - begun;
    if (status == RINGRT_OK) unstage(layout_, transfer, buffers, staging_.data(), ranks);
    return status;
}

void Exchange::complete(const Transfer &transfer) {
    for (uint32_t number : transfer.atoms) {
        Gradient &gradient = gradients_[layout_.atoms[number].gradient];
        gradient.to_gather -= layout_.atoms[number].bytes;
        if (gradient.to_gather > 0) continue;
        // With a barrier nothing may be used before all is there.
        gradient.complete = !plan_.barrier;
        ++complete_;
    }
    if (plan_.barrier && complete_ == gradients_.size()) {
        for (Gradient &gradient : gradients_) gradient.complete = true;
    }
    changed_.notify_all();
}

// ---- agreeing on a plan -----------------------------------------------------------------------

// Rank 0 only. The plan's words, empty where the present one stays.
std::vector<uint64_t> Exchange::new_plan() {
    std::unique_lock lock(mutex_);
    if (!learner_->take_due()) return {};
    const Profile profile = learner_->profile();
    const Network network = learner_->network();
    const Plan old = plan_;
    lock.unlock();
    const std::optional<Plan> plan = better_plan(profile, network, old);
    return plan ? packed(*plan) : std::vector<uint64_t>{};
}

// What the plan promises at other sizes, for the scheduler: one size a step, while the link has
// nothing to do. Rank 0 only.
void Exchange::plan_a_speed(std::unique_lock<std::mutex> &lock) {
    if (plan_version_ == 0 || !config_.plan.blocks.empty()) return;
    if (speeds_version_ != plan_version_) speeds_.clear();
    speeds_version_ = plan_version_;
    const int present = communicator_.size();
    const int last = speeds_.empty() ? 0 : speeds_.back().ranks;
    int ranks = std::bit_ceil(static_cast<unsigned>(last) + 1);
    if (last < present) ranks = std::min(ranks, present);
    if (ranks > std::max(kMostPlannedRanks, present)) return;
    const Learned now = learner_->learned(plan_version_, samples_per_rank(present));
    const double samples = samples_per_rank(ranks);
    lock.unlock();
    const double ms = planned_step_ms(now, ranks, samples);
    lock.lock();
    speeds_.push_back({ranks, ms});
}

ringrt_status_t Exchange::agree_on_plan() {
    std::vector<uint64_t> words;
    if (communicator_.rank() == 0) words = new_plan();
    uint64_t size = words.size();
    const ringrt_status_t status = communicator_.broadcast(&size, sizeof size, 0);
    if (status != RINGRT_OK || size == 0) return status;
    if (size > kMostWords) return RINGRT_MISMATCH;
    words.resize(size);
    const ringrt_status_t sent = communicator_.broadcast(words.data(), size * sizeof size, 0);
    if (sent != RINGRT_OK) return sent;
    std::optional<Plan> plan = unpacked(words);
    Profile sizes;
    std::lock_guard lock(mutex_);
    sizes = sizes_only();
    if (!plan || fault_of(*plan, sizes)) return RINGRT_MISMATCH;
    reset_plan(*std::move(plan));
    ++plan_version_;
    return RINGRT_OK;
}

}  // namespace ringrt
