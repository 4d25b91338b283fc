// SPDX-License-Identifier: BSD-3-Clause
// The models fitted online: non-negative least squares, speed, placement, loss.
#include <algorithm>
#include <cmath>
#include <random>

#include "model/loss.h"
#include "model/nnls.h"
#include "model/placement.h"
#include "model/speed.h"
#include "tests/support/check.h"
#include "tests/support/jobs.h"

using namespace ringrt::model;
using namespace ringrt::test;

// Karush-Kuhn-Tucker: x >= 0; the gradient is >= 0 everywhere and 0 where x > 0.
TEST(nnls_meets_its_optimality_conditions) {
    std::mt19937_64 random(1);
    for (int n = 0; n < 20000; ++n) {
        NormalEquations eq;
        const int rows = 1 + static_cast<int>(random() % 12);
        double scale = 0;
        for (int r = 0; r < rows; ++r) {
            std::array<double, 4> a;
            for (double &v : a)
                v = random() % 5 ? uniform(random, -1, 1) * std::exp2(uniform(random, -8, 8)) : 0;
            const double b = uniform(random, -10, 10);
            for (int i = 0; i < 4; ++i) {
                eq.atb[i] += a[i] * b;
                scale = std::max(scale, std::abs(a[i] * b));
                for (int j = 0; j < 4; ++j) eq.ata[i][j] += a[i] * a[j];
            }
        }
        const auto x = solve_nnls(eq);
        for (int i = 0; i < 4; ++i) {
            double gradient = -eq.atb[i], size = std::abs(eq.atb[i]);
            for (int j = 0; j < 4; ++j) {
                gradient += eq.ata[i][j] * x[j];
                size += std::abs(eq.ata[i][j] * x[j]);
            }
            const double tolerance = 1e-5 * std::max(size, 1e-9 * scale) + 1e-9;
            ck_assert_msg(x[i] >= 0, "x[%d] = %g", i, x[i]);
            ck_assert_msg(gradient >= -tolerance, "case %d: gradient[%d] = %g", n, i, gradient);
            ck_assert_msg(x[i] == 0 || gradient <= tolerance, "case %d: x[%d] = %g, gradient %g", n,
                          i, x[i], gradient);
        }
    }
}

TEST(speed_model_recovers_the_parameters_of_the_samples) {
    std::mt19937_64 random(2);
    for (int n = 0; n < 2000; ++n) {
        const SpeedModel truth{
            .t = {uniform(random, 10, 2000), random() % 2 ? uniform(random, 0, 20) : 0,
                  random() % 2 ? uniform(random, 0, 300) : 0, uniform(random, 0, 100)}};
        std::vector<SpeedSample> samples;
        for (int w = 1; w <= 32; w *= 2) samples.push_back({w, truth.step_ms(w), 1});
        const SpeedModel fitted = fit_speed_model(samples);
        ck_assert(fitted.measured);
        for (int w = 1; w <= 64; w *= 2)
            ck_assert_double_eq_tol(fitted.step_ms(w) / truth.step_ms(w), 1, 1e-3);
    }
}

TEST(speed_model_of_few_or_bad_samples) {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    const SpeedSample bad[] = {{1, nan, 1}, {2, inf, 1}, {4, -5, 1},  {0, 10, 1},
                               {-1, 10, 1}, {8, 10, 0},  {8, 10, nan}};
    ck_assert(!fit_speed_model({}).measured);
    ck_assert(!fit_speed_model(bad).measured);
    const SpeedSample one[] = {{4, 100, 1}, {2, nan, 1}};
    ck_assert(fit_speed_model(one).measured);
    ck_assert_double_eq_tol(fit_speed_model(one).step_ms(4), 100, 1e-9);
    ck_assert(fit_speed_model(one).step_ms(8) < 100);
    const SpeedSample huge[] = {{1, 1e300, 1}, {65536, 1e-300, 1}, {2, 1e300, 1e300}};
    for (int w = 1; w <= 65536; w *= 2) ck_assert(!std::isnan(fit_speed_model(huge).step_ms(w)));
}

TEST(placement_model_finds_the_curve_it_was_sampled_from) {
    PlacementModel truth;
    truth.c = {20, 0.5, 15, 2, 60, 3};
    std::vector<StepSample> samples;
    for (const int gpus : {1, 2, 4, 8, 16, 32}) {
        const int at = (gpus + 3) / 4;
        for (const double local : {512.0 / gpus, 256.0 / gpus})
            samples.push_back({gpus, at, 1, local, truth.step_ms(gpus, at, 1, local)});
    }
    const PlacementModel model = fit_placement_model(samples, kUsualOfFixedBatch);
    for (const StepSample &s : samples)
        ck_assert_double_eq_tol(model.step_ms(s.gpus, s.nodes, s.passes, s.local_batch), s.step_ms,
                                0.03 * s.step_ms);
    for (const double c : model.c) ck_assert_double_ge(c, 0);
}

TEST(placement_model_survives_nonsense) {
    const std::vector<StepSample> samples{{0, 1, 1, 1, 5}, {1, 1, 1, 1, NAN},      {1, 1, 1, 1, -1},
                                          {1, 1, 0, 1, 5}, {1, 1, 1, INFINITY, 5}, {1, 1, 1, 0, 5}};
    const PlacementModel model = fit_placement_model(samples, kUsualOfFixedBatch);
    ck_assert_double_eq(model.step_ms(1, 1, 1, 1), PlacementModel{}.step_ms(1, 1, 1, 1));
    const std::vector<StepSample> one{{2, 1, 1, 64, 100}};
    ck_assert_double_eq_tol(fit_placement_model(one, kUsualOfFixedBatch).step_ms(2, 1, 1, 64), 100,
                            5);
}

// A first measurement with the smallest batch must favour a larger batch, and a second GPU of the
// node, but not one of another node. One with a fixed batch favours GPUs that share it.
TEST(placement_model_expects_what_is_usual) {
    const std::vector<StepSample> first{{1, 1, 1, 64, 100}};
    const PlacementModel smallest = fit_placement_model(first, kUsualOfSmallestBatch);
    ck_assert_double_eq_tol(smallest.step_ms(1, 1, 1, 64), 100, 3);
    ck_assert_double_eq_tol(smallest.step_ms(1, 1, 1, 128), 150, 3);
    ck_assert_double_eq_tol(smallest.step_ms(2, 1, 1, 64), 102, 3);
    ck_assert_double_eq_tol(smallest.step_ms(2, 2, 1, 64), 150, 3);
    const PlacementModel fixed = fit_placement_model(first, kUsualOfFixedBatch);
    ck_assert_double_eq_tol(fixed.step_ms(1, 1, 1, 128), 190, 3);
    ck_assert_double_eq_tol(fixed.step_ms(2, 2, 1, 64), 110, 3);
}

// Optimus's own form, with its floor, from noisy samples: the curve and the remaining steps.
TEST(loss_model_finds_the_curve_and_the_remaining_steps) {
    std::mt19937_64 random(6);
    const LossModel truth{.b0 = 2e-3, .b1 = 0.4, .b2 = 0.3};
    std::vector<LossSample> samples;
    for (int step = 0; step <= 4000; step += 50)
        samples.push_back({double(step), truth.loss(step) * uniform(random, 0.99, 1.01)});
    const auto model = fit_loss_model(samples);
    ck_assert(model.has_value());
    for (const double step : {500., 4000., 8000.})
        ck_assert_double_eq_tol(model->loss(step), truth.loss(step), 0.05 * truth.loss(step));
    const double left = steps_to_converge(*model, 4000, 400, 0.002, 1e6);
    const double right = steps_to_converge(truth, 4000, 400, 0.002, 1e6);
    ck_assert_double_eq_tol(left, right, 0.5 * right);
    ck_assert_double_eq(steps_to_converge(truth, 1e7, 400, 0.002, 1e6), 0);
    ck_assert(!fit_loss_model(std::vector<LossSample>{{1, 2}, {2, 1}}).has_value());
    ck_assert(!fit_loss_model(std::vector<LossSample>{{1, 1}, {2, 2}, {3, 3}, {4, 4}}).has_value());
}

int main() { return ringrt::test::run_all("models"); }
