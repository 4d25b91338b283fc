// SPDX-License-Identifier: BSD-3-Clause
// ringfit: the models that it fits, what it derives from them, and that its plot shows the samples
// at their positions with the curves through them.
#include <cmath>
#include <regex>

#include "sim/workload/csv.h"
#include "tests/support/check.h"
#include "tools/ringfit/fit.h"

using namespace ringrt;
using namespace ringrt::fit;

namespace {

struct Point {
    double x, y;
};

std::vector<Point> points(const std::string &text, const char *pattern) {
    const std::regex point(pattern);
    std::vector<Point> out;
    for (std::sregex_iterator found(text.begin(), text.end(), point), end; found != end; ++found)
        out.push_back({std::stod((*found)[1]), std::stod((*found)[2])});
    return out;
}

// The points of the `index`th blue curve.
std::vector<Point> curve(const std::string &svg, int index) {
    std::size_t at = 0;
    for (int i = 0; i <= index; ++i) at = svg.find("stroke=\"#06c\" d=\"", at + 1);
    ck_assert(at != std::string::npos);
    return points(svg.substr(at, svg.find("\"/>", at) - at), "[ML]([0-9.]+) ([0-9.]+)");
}

double height_at(const std::vector<Point> &curve, double x) {
    for (std::size_t i = 1; i < curve.size(); ++i)
        if (curve[i].x >= x)
            return curve[i - 1].y + (curve[i].y - curve[i - 1].y) * (x - curve[i - 1].x) /
                                        (curve[i].x - curve[i - 1].x);
    return NAN;
}

std::string csv() {
    std::string text = "gpus,step_ms,step,loss\n";
    const auto step_ms = [](int w) { return 400. / w + 5 * (w - 1) + 20. * (w - 1) / w + 30; };
    for (const int w : {1, 2, 4, 8})
        text += std::to_string(w) + "," + std::to_string(step_ms(w)) + ",,\n";
    for (int k = 0; k <= 1000; k += 100)
        text +=
            ",," + std::to_string(k) + "," + std::to_string(1 / (0.002 * k + 0.5) + 0.25) + "\n";
    return text;
}

std::string refusal(const std::string &text) {
    try {
        (void)from_csv({"x.csv", text});
    } catch (const sim::InputError &error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST(the_models_equal_those_that_were_sampled) {
    const Samples samples = from_csv({"x.csv", csv()});
    ck_assert_uint_eq(samples.speed.size(), 4);
    ck_assert_uint_eq(samples.loss.size(), 11);
    const Fit fit = fit_all(samples, 64, 0, 0.01);
    ck_assert(fit.speed.has_value() && fit.loss.has_value());
    for (const int w : {1, 2, 4, 8, 16})
        ck_assert_double_eq_tol(fit.speed->step_ms(w),
                                400. / w + 5 * (w - 1) + 20. * (w - 1) / w + 30, 1);
    ck_assert_int_eq(fit.sizes_measured, 4);
    ck_assert_int_eq(fit.fastest, 8);    // 132.5 ms; 143.75 ms at 16
    ck_assert_int_eq(fit.efficient, 4);  // 430/160 > 2; 430/132.5 < 4
    ck_assert_double_eq_tol(fit.loss->loss(2000), 1 / 4.5 + 0.25, 0.01);
    ck_assert_double_eq(fit.window, 100);
    const std::string json = to_json(samples, fit);
    ck_assert(json.find("\"fastest_gpus\": 8") != std::string::npos);
}

TEST(the_plot_shows_samples_and_curves) {
    const Samples samples = from_csv({"x.csv", csv()});
    const std::string svg = to_svg(samples, fit_all(samples, 8, 0, 0.01), 8);
    const std::vector<Point> dots = points(svg, "cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");
    ck_assert_uint_eq(dots.size(), 15);
    const std::vector<Point> speed = curve(svg, 0), loss = curve(svg, 1);
    for (std::size_t i = 0; i < dots.size(); ++i)
        ck_assert_double_eq_tol(dots[i].y, height_at(i < 4 ? speed : loss, dots[i].x), 3);
    for (std::size_t i = 1; i < 4; ++i) {
        ck_assert_double_eq_tol(dots[i].x, 60 + 500. * (1 << i) / 8, 0.1);  // up to 8 GPUs
        ck_assert_double_ge(dots[i].y, dots[i - 1].y);                      // faster: lower
    }
    ck_assert_double_eq_tol(dots[14].x, 60 + 500 / 1.5, 0.1);  // half as far again as the samples
}

TEST(telemetry_has_speeds_and_wrong_input_one_line) {
    const Samples told = from_telemetry("mine ringrt/1 run=0 gpus=4 step=9 speed=1:520,4:140", "x");
    ck_assert_uint_eq(told.speed.size(), 2);
    const Fit one = fit_all(from_csv({"x.csv", "gpus,step_ms\n2,100\n"}), 8, 0, 0.01);
    ck_assert_double_eq_tol(one.speed->step_ms(2), 100, 1e-6);
    EXPECT_TEXT(refusal("a,b\n1,2\n"), "x.csv:1: expected the columns gpus,step_ms or step,loss");
    EXPECT_TEXT(refusal("gpus,step_ms\n"), "x.csv: no samples");
    ck_assert(refusal("gpus,step_ms\n1,x\n").starts_with("x.csv:2: step_ms: expected a number"));
}

int main() { return ringrt::test::run_all("ringfit"); }
