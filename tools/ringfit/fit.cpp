// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringfit/fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "slurm_plugin/records/telemetry.h"

namespace ringrt::fit {

Samples from_csv(sim::TextFile file) {
    const sim::Table table(std::move(file), ',');
    const auto gpus = table.find("gpus"), step_ms = table.find("step_ms");
    const auto step = table.find("step"), loss = table.find("loss");
    if (!(gpus && step_ms) && !(step && loss))
        throw sim::InputError(table.path() + ":1: expected the columns gpus,step_ms or step,loss");
    Samples samples;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        if (gpus && step_ms && !table.text(row, *step_ms).empty())
            samples.speed.push_back({.gpus = table.integer(row, *gpus, 1, 65536),
                                     .step_ms = table.number(row, *step_ms, 1e-6, 1e12)});
        if (step && loss && !table.text(row, *loss).empty())
            samples.loss.push_back({.step = table.number(row, *step, 0, 1e15),
                                    .loss = table.number(row, *loss, -1e12, 1e12)});
    }
    if (samples.speed.empty() && samples.loss.empty())
        throw sim::InputError(table.path() + ": no samples");
    return samples;
}

Samples from_telemetry(const std::string &text, const std::string &where) {
    const auto telemetry = records::parse_telemetry(std::string_view(text).substr(0, 4096));
    if (!telemetry) throw sim::InputError(where + ": no readable telemetry (ringrt/1 ...)");
    Samples samples;
    for (int i = 0; i < telemetry->samples; ++i) {
        const records::SpeedSample &speed = telemetry->speed[static_cast<std::size_t>(i)];
        samples.speed.push_back({.gpus = speed.gpus, .step_ms = speed.step_ms});
    }
    if (samples.speed.empty() && telemetry->step_ms > 0)
        samples.speed.push_back({.gpus = telemetry->gpus, .step_ms = telemetry->step_ms});
    if (samples.speed.empty())
        throw sim::InputError(where + ": its telemetry has no step time yet; try again later");
    return samples;
}

Fit fit_all(const Samples &samples, int gpus_max, double window, double threshold) {
    Fit fit;
    std::set<int> sizes;
    for (const model::SpeedSample &sample : samples.speed) sizes.insert(sample.gpus);
    fit.sizes_measured = static_cast<int>(sizes.size());
    if (!samples.speed.empty()) {
        fit.speed = model::fit_speed_model(samples.speed);
        fit.fastest = fit.efficient = 1;
        for (int gpus = 1; gpus <= gpus_max; gpus *= 2) {
            if (fit.speed->step_ms(gpus) < fit.speed->step_ms(fit.fastest)) fit.fastest = gpus;
            if (2 * fit.speed->step_ms(1) >= gpus * fit.speed->step_ms(gpus)) fit.efficient = gpus;
        }
    }
    fit.loss = model::fit_loss_model(samples.loss);
    if (!fit.loss) return fit;
    double last = 0;
    for (const model::LossSample &sample : samples.loss) last = std::max(last, sample.step);
    fit.window = window > 0 ? window : last / 10;
    fit.steps_left = model::steps_to_converge(*fit.loss, last, fit.window, threshold, 1000 * last);
    return fit;
}

std::string to_json(const Samples &samples, const Fit &fit) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    if (fit.speed) {
        nlohmann::ordered_json residuals = nlohmann::ordered_json::array();
        for (const model::SpeedSample &s : samples.speed)
            residuals.push_back({{"gpus", s.gpus},
                                 {"step_ms", s.step_ms},
                                 {"fitted_ms", fit.speed->step_ms(s.gpus)}});
        out["speed"] = {{"t", fit.speed->t},
                        {"sizes_measured", fit.sizes_measured},
                        {"fastest_gpus", fit.fastest},
                        {"efficient_gpus", fit.efficient},
                        {"samples", residuals}};
    }
    if (fit.loss)
        out["loss"] = {{"b0", fit.loss->b0},           {"b1", fit.loss->b1},
                       {"b2", fit.loss->b2},           {"rms", fit.loss->rms},
                       {"steps_left", fit.steps_left}, {"window", fit.window}};
    return out.dump(1) + "\n";
}

namespace {

struct Axes {
    double x_max, y_max, top;
    [[nodiscard]] double x(double value) const { return 60 + 500 * value / x_max; }
    [[nodiscard]] double y(double value) const { return top + 220 * (1 - value / y_max); }
};

template <typename Curve>
void draw(std::string &out, const Axes &axes, const char *title, double from, const Curve &curve) {
    char line[256];
    std::snprintf(line, sizeof line,
                  "<text x=\"60\" y=\"%.0f\">%s (0 to %.4g) over 0 to %.4g</text>\n"
                  "<path d=\"M60 %.0fV%.0fH560\" fill=\"none\" stroke=\"#888\"/>\n"
                  "<path fill=\"none\" stroke=\"#06c\" d=\"",
                  axes.top - 8, title, axes.y_max, axes.x_max, axes.top, axes.top + 220);
    out += line;
    for (int i = 0; i <= 200; ++i) {
        const double x = from + (axes.x_max - from) * i / 200;
        std::snprintf(line, sizeof line, "%c%.1f %.1f", i == 0 ? 'M' : 'L', axes.x(x),
                      axes.y(std::min(curve(x), axes.y_max)));
        out += line;
    }
    out += "\"/>\n";
}

void dot(std::string &out, const Axes &axes, double x, double y) {
    char line[128];
    std::snprintf(line, sizeof line, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#c30\"/>\n",
                  axes.x(x), axes.y(y));
    out += line;
}

}  // namespace

std::string to_svg(const Samples &samples, const Fit &fit, int gpus_max) {
    std::string out =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 600 560\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    if (fit.speed) {
        double highest = fit.speed->step_ms(1);
        for (const model::SpeedSample &s : samples.speed) highest = std::max(highest, s.step_ms);
        const Axes axes{.x_max = double(gpus_max), .y_max = highest * 1.05, .top = 30};
        const auto curve = [&](double w) {
            const auto &t = fit.speed->t;
            return t[0] / w + t[1] * (w - 1) + t[2] * (w - 1) / w + t[3];
        };
        draw(out, axes, "step time [ms], by GPUs", 1, curve);
        for (const model::SpeedSample &s : samples.speed)
            if (s.gpus <= gpus_max) dot(out, axes, s.gpus, s.step_ms);
    }
    if (fit.loss) {
        double last = 0, highest = 0;
        for (const model::LossSample &s : samples.loss) {
            last = std::max(last, s.step);
            highest = std::max(highest, s.loss);
        }
        const Axes axes{.x_max = last * 1.5, .y_max = highest * 1.05, .top = 310};
        draw(out, axes, "loss, by steps", 0, [&](double k) { return fit.loss->loss(k); });
        for (const model::LossSample &s : samples.loss) dot(out, axes, s.step, s.loss);
    }
    return out + "</svg>\n";
}

}  // namespace ringrt::fit
