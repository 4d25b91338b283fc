// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringplan/svg.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/ringplan/text.h"

namespace ringrt::ringplan {

using namespace bucketing;

namespace {

constexpr double kWidth = 1090, kLeft = 126, kRight = 24, kTop = 104;
constexpr double kLane = 24, kRule = 104;  // heights

std::string escaped(const std::string &text) {
    std::string out;
    for (char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126)
            out += '?';
        else
            out += c;
    }
    return out;
}

// 0: the first layer, most urgent; 1: the last.
std::string colour(double position) {
    constexpr std::array<std::array<double, 3>, 3> kScale = {
        {{209, 67, 67}, {233, 196, 106}, {69, 123, 157}}};
    const double at = std::clamp(position, 0.0, 1.0) * 2;
    const size_t low = at < 1 ? 0 : 1;
    std::string out = "rgb(";
    for (size_t i = 0; i < 3; ++i) {
        const double part = at - static_cast<double>(low);
        out += decimals(kScale[low][i] + (kScale[low + 1][i] - kScale[low][i]) * part, 0);
        out += i < 2 ? "," : ")";
    }
    return out;
}

class Picture {
  public:
    explicit Picture(const Comparison &comparison)
        : comparison_(comparison), profile_(*comparison.profile) {
        for (const Outcome &outcome : comparison.outcomes) {
            end_us_ = std::max(end_us_, outcome.timeline.iteration_us);
        }
        end_us_ = std::max(end_us_, 1.0);
        height_ = kTop + kRule * static_cast<double>(comparison.outcomes.size()) + 34;
    }

    std::string draw() {
        head();
        ruler();
        double y = kTop;
        for (const Outcome &outcome : comparison_.outcomes) {
            rule(outcome, y);
            y += kRule;
        }
        bound(y);
        return out_ + "</svg>\n";
    }

  private:
    [[nodiscard]] double x(double us) const {
        return kLeft + us / end_us_ * (kWidth - kLeft - kRight);
    }
    [[nodiscard]] double position(size_t layer) const {
        return profile_.gradients.size() < 2
                   ? 0
                   : static_cast<double>(layer) /
                         static_cast<double>(profile_.gradients.size() - 1);
    }

    void text(double at_x, double at_y, const std::string &words, const char *extra = "") {
        out_ += "<text x=\"" + decimals(at_x, 1) + "\" y=\"" + decimals(at_y, 1) + "\" " + extra +
                ">" + escaped(words) + "</text>\n";
    }

    void box(double from_us, double to_us, double y, double height, const std::string &fill,
             const std::string &title, const char *extra = "") {
        const double left = x(from_us), width = std::max(0.3, x(to_us) - left);
        out_ += "<rect x=\"" + decimals(left, 2) + "\" y=\"" + decimals(y, 1) + "\" width=\"" +
                decimals(width, 2) + "\" height=\"" + decimals(height, 1) + "\" fill=\"" + fill +
                "\" " + extra + "><title>" + escaped(title) + "</title></rect>\n";
    }

    void head() {
        const Network &network = comparison_.network;
        out_ =
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + decimals(kWidth, 0) + " " +
            decimals(height_, 0) +
            "\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"5\" fill=\"#fff\" "
            "fill-opacity=\"0.55\"/></pattern></defs>\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
        text(kLeft, 22,
             "One training iteration: " + profile_.name + ", " +
                 in_mb(static_cast<double>(total_bytes(profile_))) + " of gradients, " +
                 std::to_string(network.ranks) + " ranks, " + decimals(network.gbps, 0) +
                 " Gb/s, alpha " + decimals(network.alpha_us, 0) + " us",
             "font-size=\"15\" font-weight=\"bold\"");
        legend();
    }

    void legend() {
        double at = kLeft;
        const auto entry = [&](const std::string &fill, bool hatched, const char *words,
                               double width) {
            for (int layer = 0; layer <= (hatched ? 1 : 0); ++layer) {
                out_ += "<rect x=\"" + decimals(at, 0) +
                        "\" y=\"36\" width=\"18\" height=\"12\" fill=\"" +
                        (layer ? "url(#hatch)" : fill) + "\"/>\n";
            }
            text(at + 24, 46, words);
            at += width;
        };
        entry(colour(0), false, "first layers: urgent", 150);
        entry(colour(0.5), false, "middle", 76);
        entry(colour(1), false, "last layers", 104);
        entry("#8d99ae", false, "reduce-scatter", 124);
        entry("#8d99ae", true, "all-gather", 100);
        entry("#f4f4f4", false, "the processor waits", 0);
    }

    void ruler() {
        const double step = std::pow(10, std::floor(std::log10(end_us_ / 3)));
        const double every = end_us_ / step > 12 ? step * 2 : step;
        for (double us = 0; us <= end_us_; us += every) {
            out_ += "<line x1=\"" + decimals(x(us), 1) + "\" x2=\"" + decimals(x(us), 1) +
                    "\" y1=\"" + decimals(kTop - 26, 0) + "\" y2=\"" + decimals(height_ - 30, 0) +
                    "\" stroke=\"#ddd\"/>\n";
            text(x(us) + 2, kTop - 18, in_ms(us), "fill=\"#777\" font-size=\"10\"");
        }
    }

    void rule(const Outcome &outcome, double y) {
        const Timeline &timeline = outcome.timeline;
        text(10, y + 16, std::string(outcome.rule), "font-weight=\"bold\"");
        text(10, y + 32, in_ms(timeline.iteration_us));
        text(kLeft, y + 8, why_it_waits(comparison_, outcome), "font-size=\"11\" fill=\"#333\"");
        compute(timeline, y + 14);
        link(outcome, y + 16 + kLane);
        const double end = x(timeline.iteration_us);
        out_ += "<line x1=\"" + decimals(end, 1) + "\" x2=\"" + decimals(end, 1) + "\" y1=\"" +
                decimals(y + 10, 1) + "\" y2=\"" + decimals(y + 20 + 2 * kLane, 1) +
                "\" stroke=\"#000\" stroke-width=\"2\"/>\n";
    }

    // Neighbouring layers thinner than a pixel are drawn as one.
    void compute(const Timeline &timeline, double y) {
        const double backward_end = backward_us(profile_);
        box(0, timeline.iteration_us, y, kLane, "#f4f4f4", "waiting", "stroke=\"#ccc\"");
        double from = 0;
        for (uint32_t id : ready_order(profile_)) {
            const double ready = profile_.gradients[id].ready_us;
            if (x(ready) - x(from) < 1) continue;
            box(from, ready, y, kLane, colour(position(id)),
                "backward to layer " + std::to_string(id));
            from = ready;
        }
        if (from < backward_end) box(from, backward_end, y, kLane, colour(0), "backward");
        for (size_t i = 0, first = 0; i < timeline.layers.size(); ++i) {
            const bool last = i + 1 == timeline.layers.size();
            const bool gap = !last && timeline.layers[i + 1].start_us > timeline.layers[i].end_us;
            const double start = timeline.layers[first].start_us, end = timeline.layers[i].end_us;
            if (!last && !gap && x(end) - x(start) < 1) continue;
            box(start, end, y, kLane, colour(position(first)),
                "forward of layer " + std::to_string(first));
            first = i + 1;
        }
        out_ += "<line x1=\"" + decimals(x(backward_end), 1) + "\" x2=\"" +
                decimals(x(backward_end), 1) + "\" y1=\"" + decimals(y - 2, 1) + "\" y2=\"" +
                decimals(y + kLane, 1) + "\" stroke=\"#000\" stroke-dasharray=\"2 2\"/>\n";
        text(kLeft - 6, y + 16, "compute", "font-size=\"10\" fill=\"#777\" text-anchor=\"end\"");
    }

    void link(const Outcome &outcome, double y) {
        text(kLeft - 6, y + 16, "link", "font-size=\"10\" fill=\"#777\" text-anchor=\"end\"");
        for (size_t i = 0; i < outcome.plan.blocks.size(); ++i) {
            const Block &block = outcome.plan.blocks[i];
            const Span &span = outcome.timeline.blocks[i];
            const double middle = (span.start_us + span.end_us) / 2;
            if (block.phase == Phase::allreduce) {
                half(block, i, span.start_us, middle, y, false);
                half(block, i, middle, span.end_us, y, true);
            } else {
                half(block, i, span.start_us, span.end_us, y, block.phase == Phase::all_gather);
            }
        }
    }

    // One phase of a block: the start-up in grey, then its bytes in the colours of their layers.
    void half(const Block &block, size_t number, double from, double to, double y, bool gather) {
        const double alpha_us = std::min(comparison_.network.phase_alpha_us(), to - from);
        const auto bytes = static_cast<double>(block_bytes(block));
        const std::string title = "block " + std::to_string(number + 1) + ", " + in_mb(bytes) +
                                  (gather ? ", all-gather" : ", reduce-scatter");
        box(from, from + alpha_us, y, kLane, "#333", title + ": start-up");
        double at = from + alpha_us, pending = at, sent = 0;
        for (size_t i = 0; i < block.pieces.size(); ++i) {
            sent += static_cast<double>(block.pieces[i].bytes);
            at = from + alpha_us + (to - from - alpha_us) * sent / bytes;
            if (x(at) - x(pending) < 1 && i + 1 < block.pieces.size()) continue;
            box(pending, at, y, kLane, colour(position(block.pieces[i].gradient)), title);
            pending = at;
        }
        if (gather) box(from, to, y, kLane, "url(#hatch)", title);
        box(from, to, y, kLane, "none", title, "stroke=\"#fff\" stroke-width=\"1\"");
    }

    void bound(double y) {
        const double at = x(std::min(end_us_, comparison_.bound.with_alpha_us));
        out_ += "<line x1=\"" + decimals(at, 1) + "\" x2=\"" + decimals(at, 1) + "\" y1=\"" +
                decimals(kTop - 6, 1) + "\" y2=\"" + decimals(y, 1) +
                "\" stroke=\"#2a9d8f\" stroke-width=\"1.5\" stroke-dasharray=\"6 3\"/>\n";
        text(at, y + 14, "no rule can be faster: " + in_ms(comparison_.bound.with_alpha_us),
             "fill=\"#2a9d8f\" text-anchor=\"middle\"");
    }

    const Comparison &comparison_;
    const Profile &profile_;
    double end_us_ = 0, height_ = 0;
    std::string out_;
};

}  // namespace

std::string svg(const Comparison &comparison) { return Picture(comparison).draw(); }

}  // namespace ringrt::ringplan
