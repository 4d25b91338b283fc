// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringsim/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "tools/ringsim/format.h"
#include "tools/ringsim/report.h"

namespace ringrt::sim {
namespace {

constexpr double kWidth = 1000, kHeight = 220, kLeft = 64, kRight = 16, kTop = 34, kBottom = 28;

// 1, 2 or 5 times a power of ten, so that at most `most` steps reach `range`.
double round_step(double range, double most) {
    const double power = std::pow(10, std::floor(std::log10(std::max(1e-9, range / most))));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power * most >= range) return factor * power;
    return 10 * power;
}

// A usual step of minutes, hours or days.
double time_step(double range) {
    constexpr std::array kSteps{60.0,    300.0,    900.0,    3600.0, 10800.0, 21600.0, 43200.0,
                                86400.0, 172800.0, 604800.0, 1.21e6, 2.592e6, 7.776e6, 3.1536e7};
    for (const double step : kSteps)
        if (range / step <= 9) return step;
    return round_step(range, 9);
}

class Drawing {
  public:
    explicit Drawing(const Plot &plot) : plot_(plot), y_max_(plot.y_max) {
        bool first = true;
        for (const Series &series : plot.series)
            for (const auto &[x, y] : series.points) {
                from_ = first ? x : std::min(from_, x);
                to_ = first ? x : std::max(to_, x);
                first = false;
                if (plot.y_max <= 0) y_max_ = std::max(y_max_, y);
            }
        if (plot.axis == Axis::durations) from_ = std::max(1.0, from_);
        to_ = std::max(to_, from_ * 1.01 + 1);
        if (y_max_ <= 0) y_max_ = 1;
    }

    std::string draw() {
        append(out_, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", kLeft + kWidth + kRight,
               kTop + kHeight + kBottom);
        append(out_, "<text x=\"%.0f\" y=\"14\" class=\"title\">%s</text>\n", kLeft,
               escaped(plot_.title).c_str());
        legend();
        rows();
        plot_.axis == Axis::durations ? decades() : times();
        for (const Series &series : plot_.series) line(series);
        return out_ + "</svg>\n";
    }

  private:
    [[nodiscard]] double x(double value) const {
        if (plot_.axis != Axis::durations) return kLeft + kWidth * (value - from_) / (to_ - from_);
        const double low = std::log(from_), high = std::log(to_);
        return kLeft + kWidth * (std::log(std::max(from_, value)) - low) / (high - low);
    }
    [[nodiscard]] double y(double value) const {
        return kTop + kHeight * (1 - std::clamp(value / y_max_, 0.0, 1.0));
    }

    void legend() {
        double at = kLeft + kWidth;
        for (auto series = plot_.series.rbegin(); series != plot_.series.rend(); ++series) {
            at -= 7.0 * double(series->name.size()) + 34;
            append(out_, "<path class=\"%s\" d=\"M%.0f 10h18\"/>", series->colour.c_str(), at);
            append(out_, "<text x=\"%.0f\" y=\"14\">%s</text>\n", at + 23,
                   escaped(series->name).c_str());
        }
    }

    void rows() {
        const double step = round_step(y_max_, 5);
        for (double value = 0; value <= y_max_ * 1.0001; value += step) {
            append(out_, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", kLeft, y(value),
                   kLeft + kWidth);
            append(out_,
                   "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g%s</text>\n",
                   kLeft - 6, y(value) + 4, value, plot_.unit.c_str());
        }
    }

    void tick(double at, const std::string &label) {
        append(out_, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x(at), kTop, kTop + kHeight);
        append(out_,
               "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
               x(at), kTop + kHeight + 16, label.c_str());
    }

    void times() {
        const double step = time_step(to_ - from_);
        const bool dates = plot_.axis == Axis::dates;
        for (double at = dates ? std::ceil(from_ / step) * step : from_; at <= to_; at += step)
            tick(at, dates ? date_text(at, step < 86400) : duration_text(at - from_));
    }

    void decades() {
        constexpr std::array kTicks{1.0,     10.0,    60.0,     600.0,   3600.0,
                                    36000.0, 86400.0, 604800.0, 2.592e6, 3.1536e7};
        for (const double at : kTicks)
            if (at >= from_ && at <= to_) tick(at, duration_text(at));
    }

    void line(const Series &series) {
        if (series.points.empty()) return;
        append(out_, "<path class=\"%s\" d=\"M%.1f %.1f", series.colour.c_str(),
               x(series.points[0].first), y(series.points[0].second));
        for (const auto &[at, value] : series.points) append(out_, "H%.1fV%.1f", x(at), y(value));
        out_ += "\"/>\n";
    }

    const Plot &plot_;
    double from_ = 0, to_ = 1, y_max_;
    std::string out_;
};

}  // namespace

std::string plot_svg(const Plot &plot) { return Drawing(plot).draw(); }

std::string duration_text(double seconds) {
    const auto text = [](double value, const char *unit) {
        char out[32];
        std::snprintf(out, sizeof out, "%.3g %s", value, unit);
        return std::string(out);
    };
    if (seconds < 60) return text(seconds, "s");
    if (seconds < 3600) return text(seconds / 60, "min");
    if (seconds < 2 * 86400) return text(seconds / 3600, "h");
    return text(seconds / 86400, "d");
}

std::string date_text(double unix_s, bool with_time) {
    const auto time = static_cast<std::time_t>(unix_s);
    std::tm parts{};
    gmtime_r(&time, &parts);
    char out[32];
    std::strftime(out, sizeof out, with_time ? "%m-%d %H:%M" : "%Y-%m-%d", &parts);
    return out;
}

std::vector<std::pair<double, double>> binned(std::vector<std::pair<double, double>> changes,
                                              double from, double to, std::size_t bins) {
    std::sort(changes.begin(), changes.end());
    const double width = (to - from) / double(bins);
    std::vector<std::pair<double, double>> out;
    std::size_t next = 0;
    double level = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
        double at = from + width * double(bin), sum = 0;
        const double end = at + width;
        for (; next < changes.size() && changes[next].first < end; ++next) {
            const double time = std::max(at, changes[next].first);
            sum += level * (time - at);
            level += changes[next].second;
            at = time;
        }
        out.emplace_back(from + width * double(bin), (sum + level * (end - at)) / width);
    }
    out.emplace_back(to, out.empty() ? 0 : out.back().second);
    return out;
}

}  // namespace ringrt::sim
