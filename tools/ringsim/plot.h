// SPDX-License-Identifier: BSD-3-Clause
// Curves over time or over a duration, as SVG inside a page: step lines, axes with numbers, one
// colour for the actual run and one for the alternative.
#pragma once

#include <string>
#include <vector>

namespace ringrt::sim {

struct Series {
    std::string name;
    std::string colour;  // a CSS class of the page: "before", "after", "other"
    std::vector<std::pair<double, double>> points;  // x rising; each y holds until the next x
};

enum class Axis {
    dates,      // x is Unix time
    elapsed,    // x is seconds from the first
    durations,  // x is seconds, on a logarithmic axis
};

struct Plot {
    std::string title, unit;  // of y
    Axis axis = Axis::elapsed;
    double y_max = 0;  // 0: the largest y
    std::vector<Series> series;
};

[[nodiscard]] std::string plot_svg(const Plot &plot);

// "1 min", "2.5 h", "3 d".
[[nodiscard]] std::string duration_text(double seconds);
// "2026-10-01 12:00", UTC.
[[nodiscard]] std::string date_text(double unix_s, bool with_time);

// Means of a step function over `bins` equal parts of from..to: the resolution of a picture.
[[nodiscard]] std::vector<std::pair<double, double>> binned(
    std::vector<std::pair<double, double>> changes, double from, double to, std::size_t bins);

}  // namespace ringrt::sim
