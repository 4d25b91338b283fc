// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringplan/chrome_trace.h"

#include <nlohmann/json.hpp>

namespace ringrt::ringplan {

using namespace bucketing;
using nlohmann::json;

namespace {

constexpr int kCompute = 1, kLink = 2;

json event(const std::string &name, int process, int line, double start_us, double end_us) {
    return {{"name", name}, {"ph", "X"},      {"pid", process},
            {"tid", line},  {"ts", start_us}, {"dur", end_us - start_us}};
}

json named(const char *what, const std::string &name, int process, int line) {
    return {
        {"name", what}, {"ph", "M"}, {"pid", process}, {"tid", line}, {"args", {{"name", name}}}};
}

std::string label(const Profile &profile, size_t i) {
    const std::string &name = profile.gradients[i].name;
    return name.empty() ? "layer " + std::to_string(i) : name;
}

void add_compute(const Comparison &comparison, const Outcome &outcome, int process, json &events) {
    const Profile &profile = *comparison.profile;
    double before = 0;
    for (uint32_t id : ready_order(profile)) {
        const double ready = profile.gradients[id].ready_us;
        events.push_back(
            event("backward to " + label(profile, id), process, kCompute, before, ready));
        before = ready;
    }
    for (size_t i = 0; i < profile.gradients.size(); ++i) {
        const Span &span = outcome.timeline.layers[i];
        events.push_back(event(label(profile, i), process, kCompute, span.start_us, span.end_us));
    }
}

void add_link(const Outcome &outcome, int process, json &events) {
    for (size_t i = 0; i < outcome.plan.blocks.size(); ++i) {
        const Block &block = outcome.plan.blocks[i];
        const char *phase = block.phase == Phase::allreduce        ? "allreduce"
                            : block.phase == Phase::reduce_scatter ? "reduce-scatter"
                                                                   : "all-gather";
        const Span &span = outcome.timeline.blocks[i];
        json one = event(phase, process, kLink, span.start_us, span.end_us);
        one["args"] = {
            {"block", i + 1}, {"bytes", block_bytes(block)}, {"pieces", block.pieces.size()}};
        events.push_back(std::move(one));
    }
}

}  // namespace

std::string chrome_trace(const Comparison &comparison) {
    json events = json::array();
    int process = 0;
    for (const Outcome &outcome : comparison.outcomes) {
        ++process;
        events.push_back(named("process_name", std::string(outcome.rule), process, 0));
        events.push_back(named("thread_name", "compute", process, kCompute));
        events.push_back(named("thread_name", "link", process, kLink));
        add_compute(comparison, outcome, process, events);
        add_link(outcome, process, events);
    }
    // Bytes of a name that are not UTF-8 are replaced instead of raising an exception.
    return json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump(
               -1, ' ', false, json::error_handler_t::replace) +
           '\n';
}

}  // namespace ringrt::ringplan
