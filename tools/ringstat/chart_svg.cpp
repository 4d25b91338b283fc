// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/chart_svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "tools/ringstat/chart.h"
#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

constexpr double kWidth = 1090, kLeft = 150, kRight = 24, kTop = 84, kLane = 46, kBar = 34;
constexpr std::size_t kNameColumns = 18;
constexpr int kMarksMost = 10;

// All colours: from few GPUs to many, in ringplan's hues.
constexpr std::string_view kStyle = R"(<style>
text{fill:#222}.soft{fill:#777}.page{fill:#fff}.grid{stroke:#ddd}.wait{stroke:#999}
.s0{fill:#457b9d}.s1{fill:#74a3a8}.s2{fill:#b5bf86}.s3{fill:#e9c46a}.s4{fill:#dd8457}.s5{fill:#d14343}
@media (prefers-color-scheme:dark){text{fill:#e6e6e6}.soft{fill:#9a9a9a}.page{fill:#16191d}
.grid{stroke:#343a40}.wait{stroke:#7d7d7d}}
</style>
)";
constexpr int kColours = 6;

std::string number(double value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

std::string escaped(const std::string &text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

std::string gpus_text(int gpus) { return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs"); }

class Picture {
  public:
    explicit Picture(const Timeline &timeline) : timeline_(timeline), sizes_(sizes_of(timeline)) {
        height_ = kTop + kLane * static_cast<double>(timeline.lanes.size()) + 14;
    }

    std::string draw() {
        head();
        axis();
        double y = kTop;
        for (const JobLane &lane : timeline_.lanes) {
            job(lane, y);
            y += kLane;
        }
        return out_ + "</svg>\n";
    }

  private:
    [[nodiscard]] double x(double time_s) const {
        const double whole_s = std::max(1e-3, timeline_.end_s - timeline_.start_s);
        return kLeft + (time_s - timeline_.start_s) / whole_s * (kWidth - kLeft - kRight);
    }

    // Position of the size among those that occur, up to 1, by its logarithm.
    [[nodiscard]] double position(int gpus) const {
        const double low = std::log2(sizes_.front()), high = std::log2(sizes_.back());
        return (std::log2(gpus) - low + 1) / (high - low + 1);
    }
    [[nodiscard]] std::string colour(int gpus) const {
        return "s" + std::to_string(std::lround(position(gpus) * (kColours - 1)));
    }

    void text(double at_x, double at_y, const std::string &words, const char *extra = "") {
        out_ += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\" " + extra + ">" +
                escaped(words) + "</text>\n";
    }

    void head() {
        const std::string size = number(kWidth) + " " + number(height_);
        out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size +
               "\" font-family=\"sans-serif\" font-size=\"12\">\n" + std::string(kStyle) +
               "<rect width=\"100%\" height=\"100%\" class=\"page\"/>\n";
        text(kLeft, 22,
             "GPUs of malleable jobs, " + local_time(timeline_.start_s) + " to " +
                 local_time(timeline_.end_s),
             "font-size=\"15\" font-weight=\"bold\"");
        double at = kLeft;
        for (const int gpus : sizes_) {
            out_ += "<rect x=\"" + number(at) + "\" y=\"36\" width=\"18\" height=\"12\" class=\"" +
                    colour(gpus) + "\"/>\n";
            text(at + 24, 46, gpus_text(gpus));
            at += 86;
            if (at > kWidth - 200) break;
        }
        out_ += "<line x1=\"" + number(at) + "\" x2=\"" + number(at + 18) +
                "\" y1=\"42\" y2=\"42\" class=\"wait\" stroke-dasharray=\"3 3\"/>\n";
        text(at + 24, 46, "waits");
    }

    void axis() {
        const double whole_s = timeline_.end_s - timeline_.start_s;
        for (const double mark : clock_marks(timeline_.start_s, timeline_.end_s, kMarksMost)) {
            out_ += "<line x1=\"" + number(x(mark)) + "\" x2=\"" + number(x(mark)) + "\" y1=\"" +
                    number(kTop - 22) + "\" y2=\"" + number(height_ - 8) + "\" class=\"grid\"/>\n";
            text(x(mark) + 2, kTop - 12, clock_text(mark, whole_s),
                 "class=\"soft\" font-size=\"10\"");
        }
    }

    void job(const JobLane &lane, double y) {
        const double base = y + kLane - 4;
        text(10, base - 14, fit(printable(lane.name), kNameColumns, false), "font-weight=\"bold\"");
        text(10, base, "job " + printable(shown_name(lane.id, lane.task)),
             "class=\"soft\" font-size=\"10\"");
        out_ += "<line x1=\"" + number(x(lane.phases.front().start_s)) + "\" x2=\"" +
                number(x(lane.phases.back().end_s)) + "\" y1=\"" + number(base) + "\" y2=\"" +
                number(base) + "\" class=\"wait\" stroke-dasharray=\"3 3\"/>\n";
        for (const Phase &phase : lane.phases)
            if (phase.gpus > 0) bar(phase, base);
    }

    void bar(const Phase &phase, double base) {
        const double left = x(phase.start_s), width = std::max(0.6, x(phase.end_s) - left);
        const double height = kBar * position(phase.gpus);
        const std::string title = gpus_text(phase.gpus) + ", " + clock_text(phase.start_s, 0) +
                                  " to " + clock_text(phase.end_s, 0) + " " +
                                  printable(camel_case(phase.reason));
        out_ += "<rect x=\"" + number(left) + "\" y=\"" + number(base - height) + "\" width=\"" +
                number(width) + "\" height=\"" + number(height) + "\" class=\"" +
                colour(phase.gpus) + "\"><title>" + escaped(title) + "</title></rect>\n";
        if (width > 16)
            text(left + 3, base - height - 2, std::to_string(phase.gpus),
                 "class=\"soft\" font-size=\"10\"");
    }

    const Timeline &timeline_;
    std::vector<int> sizes_;
    double height_ = 0;
    std::string out_;
};

}  // namespace

std::string chart_svg(const Timeline &timeline) { return Picture(timeline).draw(); }

}  // namespace ringrt::ringstat
