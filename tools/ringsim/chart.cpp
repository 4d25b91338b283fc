// SPDX-License-Identifier: BSD-3-Clause
// Pictures: SVG without scripts, and Chrome's trace format.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/workload/csv.h"
#include "tools/ringsim/format.h"
#include "tools/ringsim/report.h"

namespace ringrt::sim {
namespace {

constexpr double kWidth = 1000, kLeft = 60, kBottom = 30;

void open_svg(std::string &out, double height) {
    append(out,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family="
           "\"sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" "
           "fill=\"white\"/>\n",
           kLeft + kWidth + 20, height);
}

// The lowest free lane of each node for every span, so that a job's GPUs are drawn as one block.
std::vector<int> lanes_of(const std::vector<Span> &spans, int gpus_per_node) {
    std::vector<std::size_t> order(spans.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return spans[a].from_s < spans[b].from_s;
    });
    std::map<int, std::vector<double>> busy_until;  // by node, for each lane
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
    append(out, "<text x=\"%.0f\" y=\"16\">%s, %s: GPU allocation over time</text>\n", kLeft,
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

std::string chrome_trace(const RunView &view) {
    nlohmann::ordered_json events = nlohmann::ordered_json::array();
    int nodes = 0;
    for (const Span &span : view.run->spans) nodes = std::max(nodes, span.node + 1);
    for (int node = 0; node < nodes; ++node)
        events.push_back({{"name", "process_name"},
                          {"ph", "M"},
                          {"pid", node},
                          {"args", {{"name", "node " + std::to_string(node + 1)}}}});
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

}  // namespace ringrt::sim
