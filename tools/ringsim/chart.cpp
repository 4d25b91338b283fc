// SPDX-License-Identifier: BSD-3-Clause
// Pictures: SVG without scripts, and Chrome's trace format.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/workload/csv.h"
#include "tools/ringsim/report.h"

namespace ringrt::sim {
namespace {

constexpr double kWidth = 1000, kLeft = 60, kBottom = 30;

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

[[gnu::format(printf, 2, 3)]] void append(std::string &out, const char *format, ...) {
    char line[512];
    std::va_list values;
    va_start(values, format);
    std::vsnprintf(line, sizeof line, format, values);
    va_end(values);
    out += line;
}

void open_svg(std::string &out, double height) {
    append(out,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family="
           "\"sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" "
           "fill=\"white\"/>\n",
           kLeft + kWidth + 20, height);
}

// Lowest free lane of each node for every span, so that a job's GPUs are drawn as one block.
std::vector<int> lanes_of(const std::vector<Span> &spans, int gpus_per_node) {
    std::vector<std::size_t> order(spans.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return spans[a].from_s < spans[b].from_s;
    });
    std::map<int, std::vector<double>> busy_until;  // by node: of each lane
    std::vector<int> lanes(spans.size(), 0);
    for (const std::size_t i : order) {
        std::vector<double> &until = busy_until[spans[i].node];
        until.resize(static_cast<std::size_t>(gpus_per_node), 0);
        int lane = 0;
        const auto is_free = [&](int first) {
            for (int k = first; k < first + spans[i].gpus; ++k)
                if (until[k] > spans[i].from_s + 1e-9) return false;
            return true;
        };
        while (lane + spans[i].gpus < gpus_per_node && !is_free(lane)) ++lane;
        lanes[i] = lane;
        for (int k = lane; k < lane + spans[i].gpus; ++k) until[k] = spans[i].to_s;
    }
    return lanes;
}

}  // namespace

std::string timeline_svg(const Workload &workload, const RunResult &run,
                         const SimOptions &options) {
    const double row = std::clamp(600.0 / (options.nodes * options.gpus_per_node), 0.5, 12.0);
    const double height = row * options.nodes * options.gpus_per_node;
    double first = workload.jobs.empty() ? 0 : workload.jobs.front().submit_s, last = first + 1;
    for (const Span &span : run.spans) last = std::max(last, span.to_s);
    const double scale = kWidth / (last - first);
    std::string out;
    open_svg(out, height + 60 + kBottom);
    append(out, "<text x=\"%.0f\" y=\"16\">%s, %s: who held which GPUs</text>\n", kLeft,
           escaped(run.workload).c_str(), escaped(run.policy).c_str());
    const std::vector<int> lanes = lanes_of(run.spans, options.gpus_per_node);
    for (std::size_t i = 0; i < run.spans.size(); ++i) {
        const Span &span = run.spans[i];
        append(out,
               "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
               "fill=\"hsl(%zu,60%%,%zu%%)\"><title>%s: %d GPUs on node %d, %.0f s to %.0f s"
               "</title></rect>\n",
               kLeft + (span.from_s - first) * scale,
               30 + row * (span.node * options.gpus_per_node + lanes[i]),
               std::max(0.1, (span.to_s - span.from_s) * scale), row * span.gpus,
               span.job * 137 % 360, 45 + span.job * 7 % 30,
               escaped(workload.jobs[span.job].name).c_str(), span.gpus, span.node,
               span.from_s - first, span.to_s - first);
    }
    for (int tick = 0; tick <= 10; ++tick)
        append(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.1f h</text>\n",
               kLeft + kWidth * tick / 10, height + 48, (last - first) * tick / 10 / 3600);
    append(out, "<text x=\"4\" y=\"%.0f\">%d nodes</text>\n</svg>\n", 30 + height / 2,
           options.nodes);
    return out;
}

std::string completion_svg(std::span<const RunView> runs) {
    constexpr double kHeight = 320, kTop = 20;
    double longest = 10;
    std::vector<std::vector<double>> curves;
    for (const RunView &view : runs) {
        std::vector<double> &jct = curves.emplace_back();
        for (std::size_t i = 0; i < view.run->jobs.size(); ++i)
            if (view.run->jobs[i].finish_s >= 0)
                jct.push_back(
                    std::max(1.0, view.run->jobs[i].finish_s - view.workload->jobs[i].submit_s));
        std::sort(jct.begin(), jct.end());
        if (!jct.empty()) longest = std::max(longest, jct.back());
    }
    const double scale = kWidth / std::log10(longest);
    std::string out;
    open_svg(out, kTop + kHeight + kBottom + 14.0 * double(runs.size()));
    for (double decade = 1; decade <= longest; decade *= 10) {
        const double x = kLeft + scale * std::log10(decade);
        append(out, "<path d=\"M%.1f %.0fV%.0f\" stroke=\"#ddd\"/>\n", x, kTop, kTop + kHeight);
        append(out, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.0f s</text>\n", x,
               kTop + kHeight + 14, decade);
    }
    for (std::size_t run = 0; run < runs.size(); ++run) {
        const std::size_t hue = run * 360 / runs.size();
        append(out, "<path fill=\"none\" stroke=\"hsl(%zu,70%%,40%%)\" d=\"M%.1f %.1f", hue, kLeft,
               kTop + kHeight);
        const std::vector<double> &jct = curves[run];
        const std::size_t stride = std::max<std::size_t>(1, jct.size() / 2000);
        for (std::size_t i = 0; i < jct.size(); i += stride)
            append(out, "L%.1f %.1f", kLeft + scale * std::log10(jct[i]),
                   kTop + kHeight * (1 - double(i + 1) / double(jct.size())));
        out += "\"/>\n";
        append(out, "<text x=\"%.0f\" y=\"%.0f\" fill=\"hsl(%zu,70%%,35%%)\">%s, %s</text>\n",
               kLeft, kTop + kHeight + kBottom + 14.0 * double(run + 1) - 4, hue,
               escaped(runs[run].run->workload).c_str(), escaped(runs[run].run->policy).c_str());
    }
    append(out, "<text x=\"4\" y=\"%.0f\">all</text><text x=\"4\" y=\"%.0f\">none</text>\n</svg>\n",
           kTop + 8, kTop + kHeight);
    return out;
}

std::string chrome_trace(const RunView &view) {
    nlohmann::ordered_json events = nlohmann::ordered_json::array();
    for (const Span &span : view.run->spans) {
        const JobSpec &job = view.workload->jobs[span.job];
        events.push_back({{"name", job.name},
                          {"cat", job.application},
                          {"ph", "X"},
                          {"ts", std::round(span.from_s * 1e6)},
                          {"dur", std::round((span.to_s - span.from_s) * 1e6)},
                          {"pid", span.node},
                          {"tid", span.job},
                          {"args", {{"gpus", span.gpus}}}});
    }
    return nlohmann::ordered_json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

std::string html(std::span<const Summary> summaries, std::span<const RunView> runs,
                 const SimOptions &options) {
    std::string out =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ringsim</title>"
        "<style>body{font-family:sans-serif;max-width:1100px;margin:2em auto}table{border-collapse:"
        "collapse}td,th{padding:.2em .6em;border-bottom:1px solid "
        "#ccc;text-align:right}td:nth-child("
        "-n+2),th:nth-child(-n+2){text-align:left}</style></head><body>\n<h1>ringsim</h1>\n";
    append(out,
           "<p>%d nodes of %d GPUs, a restart costs %g s, a decision every %g s, seed %llu.</p>\n",
           options.nodes, options.gpus_per_node, options.restart_s, options.interval_s,
           static_cast<unsigned long long>(options.seed));
    out +=
        "<table><tr><th>workload<th>policy<th>jobs<th>mean s<th>median s<th>p99 s<th>makespan s"
        "<th>GPU hours<th>used<th>restarts per job<th>GPU-seconds lost<th>worst fairness</tr>\n";
    for (const Summary &run : summaries)
        append(out,
               "<tr><td>%s<td>%s<td>%zu<td>%.0f<td>%.0f<td>%.0f<td>%.0f<td>%.0f<td>%.0f%%<td>%.2f"
               "<td>%.0f<td>%.2f</tr>\n",
               escaped(run.workload).c_str(), escaped(run.policy).c_str(), run.jobs, run.mean_jct_s,
               run.median_jct_s, run.p99_jct_s, run.makespan_s, run.gpu_hours,
               100 * run.utilisation, run.restarts_per_job, run.lost_gpu_s, run.worst_fairness);
    out += "</table>\n<h2>Share of jobs completed within a time</h2>\n" + completion_svg(runs);
    constexpr std::size_t kSpansMax = 20000;  // beyond that a page cannot be opened any more
    for (const RunView &view : runs)
        if (!view.run->spans.empty() && view.run->spans.size() <= kSpansMax)
            out += "<h2>" + escaped(view.run->workload) + ", " + escaped(view.run->policy) +
                   "</h2>\n" + timeline_svg(*view.workload, *view.run, options);
    return out + "</body></html>\n";
}

}  // namespace ringrt::sim
