// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "model/even_nodes.h"

namespace ringrt::sim {

int gpus_of(const Shape &shape) { return std::accumulate(shape.begin(), shape.end(), 0); }

Shape packed(int gpus, int gpus_per_node) {
    Shape shape;
    for (; gpus > 0; gpus -= gpus_per_node)
        shape.push_back(static_cast<uint8_t>(std::min(gpus, gpus_per_node)));
    return shape;
}

Shape packed_evenly(int gpus, int gpus_per_node) {
    return packed(gpus, gpus / model::even_nodes(gpus, gpus_per_node));
}

BatchPlan split_batch(const BatchLimits &limits, int total_batch, int gpus) {
    const auto ceil_div = [](int a, int b) { return (a + b - 1) / b; };
    BatchPlan plan;
    const int per_gpu = ceil_div(total_batch, gpus);
    plan.passes = ceil_div(per_gpu, limits.local_max);
    // A single rank measures its gradient noise from two passes (as the reference simulator does).
    if (gpus == 1 && total_batch > limits.initial) plan.passes = std::max(plan.passes, 2);
    plan.local = ceil_div(per_gpu, plan.passes);
    plan.local = std::max(1, std::min(plan.local, limits.total_max / (gpus * plan.passes)));
    return plan;
}

double plan_step_s(const Profile &profile, const Shape &shape, BatchPlan plan) {
    const StepTime time = profile.step_time(shape, plan.local);
    return profile.slowdown * (time.step_s + (time.step_s - time.sync_s) * (plan.passes - 1));
}

namespace {

class CurveProfile final : public Profile {
  public:
    CurveProfile(std::vector<int> sizes, std::vector<double> step_s, double steps)
        : sizes_(std::move(sizes)), step_s_(std::move(step_s)), ends_{steps} {
        if (sizes_.empty() || sizes_.size() != step_s_.size())
            throw std::invalid_argument("curve_profile: sizes and step times differ in number");
    }

    StepTime step_time(const Shape &shape, double) const override {
        const int gpus = gpus_of(shape);
        const auto above = std::lower_bound(sizes_.begin(), sizes_.end(), gpus);
        if (above == sizes_.end()) return {.step_s = step_s_.back()};
        const auto k = static_cast<std::size_t>(above - sizes_.begin());
        if (*above == gpus || k == 0) return {.step_s = step_s_[k]};
        const double part = double(gpus - sizes_[k - 1]) / (sizes_[k] - sizes_[k - 1]);
        return {.step_s = std::lerp(step_s_[k - 1], step_s_[k], part)};
    }
    double step_progress(int, int) const override { return 1; }
    Gradient gradient(int, int) const override { return {.square = 1, .variance = 0}; }
    double steps_until(int, int) const override { return ends_.back(); }
    const std::vector<double> &epoch_ends() const override { return ends_; }

  private:
    std::vector<int> sizes_;
    std::vector<double> step_s_;
    std::vector<double> ends_;
};

}  // namespace

std::shared_ptr<Profile> curve_profile(std::string name, std::vector<int> sizes,
                                       std::vector<double> step_s, double steps) {
    auto profile = std::make_shared<CurveProfile>(std::move(sizes), std::move(step_s), steps);
    profile->name = std::move(name);
    return profile;
}

}  // namespace ringrt::sim
