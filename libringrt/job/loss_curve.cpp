// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/loss_curve.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ringrt::job {
namespace {

constexpr double kConverged = 0.01;     // of the loss ...
constexpr double kOver = 0.1;           // ... over this share of the steps made
constexpr double kMostTimesDone = 100;  // limit of the estimate, as a multiple of the steps made
constexpr double kRunMax = 1e12, kStepMax = 1e18;  // limits for recalled values

bool is_loss(double loss) { return std::isfinite(loss) && loss > 0; }

// Independent of the program's locale.
std::string number_text(double value) {
    char digits[32];
    return {digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr};
}

// Removes `first` (a space, a colon, or 0: nothing) and a number from the front of `rest`.
bool take(std::string_view &rest, char first, double &out) {
    if (first != 0) {
        if (rest.empty() || rest.front() != first) return false;
        rest.remove_prefix(1);
    }
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return error == std::errc{};
}

}  // namespace

void LossCurve::add(double step, double loss, double goal) {
    const double before = goal_;
    goal_ = is_loss(goal) ? goal : 0;
    if (goal_ != before) refit_at_ = 0;
    if (!is_loss(loss)) return;
    sum_.step += step;
    sum_.loss += loss;
    if (++in_sum_ < run_) return;
    const auto count = static_cast<double>(in_sum_);
    samples_.push_back({.step = sum_.step / count, .loss = sum_.loss / count});
    sum_ = {};
    in_sum_ = 0;
    if (samples_.size() == kSamplesMax) halve();
}

void LossCurve::halve() {
    for (std::size_t i = 0; i < kSamplesMax / 2; ++i) {
        const model::LossSample &a = samples_[2 * i], &b = samples_[2 * i + 1];
        samples_[i] = {.step = (a.step + b.step) / 2, .loss = (a.loss + b.loss) / 2};
    }
    samples_.resize(kSamplesMax / 2);
    run_ *= 2;
}

void LossCurve::refit(double done) {
    refit_at_ = done + 1 + kOver * done;
    ends_at_.reset();
    const auto model = model::fit_loss_model(samples_);
    if (!model) return;
    const double most = kMostTimesDone * done;
    const std::optional<double> left =
        has_goal() ? model::steps_to_reach(*model, done, goal_, most)
                   : model::steps_to_converge(*model, done, std::max(1.0, kOver * done),
                                              kConverged * model->loss(done), most);
    if (left) ends_at_ = done + *left;
}

std::optional<double> LossCurve::steps_left(double step) {
    if (samples_.size() < kEnough) return std::nullopt;
    if (step >= refit_at_) refit(step);
    if (!ends_at_) return std::nullopt;
    return std::max(0.0, *ends_at_ - step);
}

std::string LossCurve::text() const {
    if (samples_.empty()) return {};
    std::string out = std::to_string(run_) + " " + number_text(goal_);
    for (const model::LossSample &sample : samples_)
        out += " " + number_text(sample.step) + ":" + number_text(sample.loss);
    return out;
}

void LossCurve::restore(std::string_view text, double scale) {
    double run = 0, goal = 0;
    if (!take(text, 0, run) || !(run >= 1 && run <= kRunMax)) return;
    if (!take(text, ' ', goal) || !(goal == 0 || is_loss(goal))) return;
    std::vector<model::LossSample> samples;
    while (!text.empty()) {
        model::LossSample sample;
        if (samples.size() + 1 == kSamplesMax || !take(text, ' ', sample.step) ||
            !take(text, ':', sample.loss) || !is_loss(sample.loss) ||
            !(sample.step >= 0 && sample.step <= kStepMax))
            return;
        sample.step *= scale;
        samples.push_back(sample);
    }
    *this = {};
    samples_ = std::move(samples);
    run_ = static_cast<uint64_t>(run);
    goal_ = goal;
}

}  // namespace ringrt::job
