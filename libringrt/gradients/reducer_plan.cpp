// SPDX-License-Identifier: BSD-3-Clause
// The reducer's plan: rank 0 decides and broadcasts it.
#include <algorithm>
#include <bit>

#include "libringrt/bucketing/rules.h"
#include "libringrt/gradients/gradient_reducer.h"
#include "libringrt/gradients/packed_plan.h"
#include "libringrt/gradients/profile_file.h"

namespace ringrt {

using namespace bucketing;

namespace {

constexpr uint64_t kMostWords = uint64_t{1} << 24;
constexpr int kMostPlannedRanks = 64;
constexpr double kGuessGbps = 10, kGuessAlphaUs = 50;

}  // namespace

// Nothing is measured yet: real sizes, and equal times for all gradients.
Profile GradientReducer::sizes_only() const {
    Profile out;
    double ready = 1000.0 * static_cast<double>(gradients_.size());
    for (const Gradient &gradient : gradients_) {
        out.gradients.push_back({{}, gradient.bytes, 500, ready});
        ready -= 1000;
    }
    return out;
}

Profile GradientReducer::measured() const {
    Profile out = learner_->profile();
    for (size_t i = 0; i < gradients_.size(); ++i) out.gradients[i].name = gradients_[i].name;
    return out;
}

void GradientReducer::save_profile(std::unique_lock<std::mutex> &lock) const {
    if (config_.profile_file.empty() || communicator_->rank() != 0) return;
    if (!learner_ || learner_->steps() == 0) return;
    const Profile now = measured();
    lock.unlock();
    write_profile(config_.profile_file, now);
    lock.lock();
}

std::vector<uint64_t> GradientReducer::gradient_bytes() const {
    std::vector<uint64_t> bytes;
    for (const Gradient &gradient : gradients_) bytes.push_back(gradient.bytes);
    return bytes;
}

double GradientReducer::samples_per_rank(int ranks) const {
    return config_.samples_per_rank ? config_.samples_per_rank(ranks) : 0;
}

void GradientReducer::reset_plan(Plan plan) {
    plan_ = std::move(plan);
    layout_ = lay_out(plan_, gradient_bytes(), communicator_->size(), element_bytes_);
    const auto ranks = static_cast<uint64_t>(communicator_->size());
    own_.resize(layout_.own_bytes);
    staging_.resize(layout_.most_staged_share_bytes * ranks);
    const uint64_t padding = staged_below_bytes(communicator_->size(), element_bytes_);
    zeros_.assign(padding, std::byte{0});
    discarded_.resize(padding);
}

// The environments of two ranks may differ, and the plans of two rules do not match. Only rank 0
// knows what an earlier run, or other ranks, have learned.
ringrt_status_t GradientReducer::agree_on_start(bool recalls) {
    rule_ = config_.rule;
    plans_at_first_ = recalls;
    if (communicator_->size() == 1) return RINGRT_OK;
    struct {
        uint64_t rule, recalls;
    } start = {static_cast<uint64_t>(rule_ - all_rules().data()), recalls};
    const ringrt_status_t status = communicator_->broadcast(&start, sizeof start, 0);
    if (status != RINGRT_OK) return status;
    if (start.rule >= all_rules().size()) return RINGRT_MISMATCH;
    rule_ = &all_rules()[start.rule];
    plans_at_first_ = start.recalls != 0;
    return RINGRT_OK;
}

// The first step's plan. Made on this thread without the lock, because it takes 40 ms for a model
// of some hundred gradients, and ready() must return at once.
ringrt_status_t GradientReducer::make_first_plan(std::unique_lock<std::mutex> &lock) {
    if (!config_.plan.blocks.empty()) {
        reset_plan(config_.plan);
        return RINGRT_OK;
    }
    const Profile sizes = sizes_only();
    const bool recalls = recalled_.has_value();
    lock.unlock();
    const ringrt_status_t status = agree_on_start(recalls);
    Plan plan;
    if (status == RINGRT_OK)
        plan = rule_->plan(sizes, {kGuessGbps, kGuessAlphaUs, communicator_->size()});
    lock.lock();
    if (status == RINGRT_OK) reset_plan(std::move(plan));
    return status;
}

// Rank 0 only. The plan's words; empty if the current plan stays.
std::vector<uint64_t> GradientReducer::new_plan() {
    std::unique_lock lock(mutex_);
    if (!learner_->take_replan_due()) return {};
    const Profile profile = learner_->profile();
    const Network network = learner_->network();
    const Plan old = plan_;
    lock.unlock();
    const std::optional<Plan> plan = better_plan(*rule_, profile, network, old);
    return plan ? packed(*plan) : std::vector<uint64_t>{};
}

// Predicted speeds at other sizes, for the scheduler: one size per step, while the link is idle.
// Rank 0 only.
void GradientReducer::plan_a_speed(std::unique_lock<std::mutex> &lock) {
    if (plan_version_ == 0 || !config_.plan.blocks.empty()) return;
    if (speeds_version_ != plan_version_) speeds_.clear();
    speeds_version_ = plan_version_;
    const int present = communicator_->size();
    const int last = speeds_.empty() ? 0 : speeds_.back().ranks;
    int ranks = std::bit_ceil(static_cast<unsigned>(last) + 1);
    if (last < present) ranks = std::min(ranks, present);
    if (ranks > std::max(kMostPlannedRanks, present)) return;
    const Learned now = learner_->learned(plan_version_, samples_per_rank(present));
    const double samples = samples_per_rank(ranks);
    lock.unlock();
    const double ms = planned_step_ms(*rule_, now, present, ranks, samples);
    lock.lock();
    speeds_.push_back({ranks, ms});
}

ringrt_status_t GradientReducer::agree_on_plan() {
    std::vector<uint64_t> words;
    if (communicator_->rank() == 0) words = new_plan();
    uint64_t size = words.size();
    const ringrt_status_t status = communicator_->broadcast(&size, sizeof size, 0);
    if (status != RINGRT_OK || size == 0) return status;
    if (size > kMostWords) return RINGRT_MISMATCH;
    words.resize(size);
    const ringrt_status_t sent = communicator_->broadcast(words.data(), size * sizeof size, 0);
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
