// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringplan/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/ringplan/text.h"

namespace ringrt::ringplan {

using namespace bucketing;
using nlohmann::ordered_json;

namespace {

std::string line(const std::string &rule, const std::string &iteration, const std::string &wait,
                 const std::string &idle, const std::string &sent, const std::string &blocks,
                 const std::string &over) {
    return padded(rule, -14) + padded(iteration, 13) + padded(wait, 10) + padded(idle, 13) +
           padded(sent, 9) + padded(blocks, 8) + padded(over, 12) + '\n';
}

std::string header(const Comparison &comparison) {
    const Network &network = comparison.network;
    return comparison.profile->name + ": " +
           in_mb(static_cast<double>(total_bytes(*comparison.profile))) + ", backward " +
           in_ms(backward_us(*comparison.profile)) + ", forward " +
           in_ms(forward_us(*comparison.profile)) + "; " + decimals(network.gbps, 1) +
           " Gb/s, alpha " + decimals(network.alpha_us, 0) + " us, " +
           std::to_string(network.ranks) + (network.servers ? " ranks, servers\n" : " ranks\n");
}

const char *phase_name(Phase phase) {
    switch (phase) {
        case Phase::allreduce:
            return "allreduce";
        case Phase::reduce_scatter:
            return "reduce-scatter";
        case Phase::all_gather:
            return "all-gather";
    }
    return "?";
}

// "3-7,9": ids of a block, in priority order.
std::string id_ranges(const Block &block) {
    std::vector<uint32_t> ids;
    for (const Piece &piece : block.pieces) ids.push_back(piece.gradient);
    std::ranges::sort(ids);
    std::string out;
    for (size_t i = 0; i < ids.size();) {
        size_t end = i;
        while (end + 1 < ids.size() && ids[end + 1] <= ids[end] + 1) ++end;
        out += (out.empty() ? "" : ",") + std::to_string(ids[i]);
        if (ids[end] > ids[i]) out += "-" + std::to_string(ids[end]);
        i = end + 1;
    }
    return out;
}

ordered_json as_json(const Comparison &comparison) {
    ordered_json out = {{"profile", comparison.profile->name},
                        {"gbps", comparison.network.gbps},
                        {"alpha_us", comparison.network.alpha_us},
                        {"ranks", comparison.network.ranks},
                        {"servers", comparison.network.servers}};
    out["rules"] = ordered_json::array();
    for (const Outcome &outcome : comparison.outcomes) {
        const Timeline &timeline = outcome.timeline;
        out["rules"].push_back(
            {{"rule", outcome.rule},
             {"iteration_ms", timeline.iteration_us / 1e3},
             {"wait_ms", timeline.wait_us / 1e3},
             {"link_idle_ms", (timeline.iteration_us - timeline.link_busy_us) / 1e3},
             {"sent_bytes", timeline.sent_bytes},
             {"blocks", outcome.plan.blocks.size()},
             {"planning_ms", outcome.planning_ms},
             {"why", why_it_waits(comparison, outcome)}});
    }
    out["bound_ms"] = comparison.bound.fluid_us / 1e3;
    out["bound_with_alpha_ms"] = comparison.bound.with_alpha_us / 1e3;
    return out;
}

// Bytes of a name that are not UTF-8 are replaced instead of raising an exception.
std::string dumped(const ordered_json &value) {
    return value.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string table(const Comparison &comparison) {
    std::string out = header(comparison);
    out +=
        line("RULE", "ITERATION_MS", "WAIT_MS", "LINK_IDLE_MS", "SENT_MB", "BLOCKS", "OVER_BOUND");
    const double least = comparison.bound.with_alpha_us;
    for (const Outcome &outcome : comparison.outcomes) {
        const Timeline &timeline = outcome.timeline;
        out +=
            line(std::string(outcome.rule), decimals(timeline.iteration_us / 1e3, 2),
                 decimals(timeline.wait_us / 1e3, 2),
                 decimals((timeline.iteration_us - timeline.link_busy_us) / 1e3, 2),
                 decimals(timeline.sent_bytes / 1e6, 1), std::to_string(outcome.plan.blocks.size()),
                 decimals(100 * (timeline.iteration_us / least - 1), 1) + " %");
    }
    const double compute = backward_us(*comparison.profile) + forward_us(*comparison.profile);
    out += line("bound+alpha", decimals(least / 1e3, 2), decimals((least - compute) / 1e3, 2), "",
                "", "", "");
    out += line("bound", decimals(comparison.bound.fluid_us / 1e3, 2),
                decimals((comparison.bound.fluid_us - compute) / 1e3, 2), "", "", "", "");
    for (const Outcome &outcome : comparison.outcomes) {
        out +=
            padded(std::string(outcome.rule) + ":", -15) + why_it_waits(comparison, outcome) + '\n';
    }
    return out;
}

std::string json(const std::vector<Comparison> &comparisons) {
    if (comparisons.size() == 1) return dumped(as_json(comparisons.front()));
    ordered_json all = ordered_json::array();
    for (const Comparison &comparison : comparisons) all.push_back(as_json(comparison));
    return dumped(all);
}

std::string blocks_table(const Comparison &comparison, const Outcome &outcome) {
    std::string out = header(comparison) + padded("BLOCK", 5) + "  " + padded("PHASE", -15) +
                      padded("START_MS", 10) + padded("END_MS", 10) + padded("BYTES", 12) +
                      "  GRADIENTS\n";
    for (size_t i = 0; i < outcome.plan.blocks.size(); ++i) {
        const Block &block = outcome.plan.blocks[i];
        const Span &span = outcome.timeline.blocks[i];
        out += padded(std::to_string(i + 1), 5) + "  " + padded(phase_name(block.phase), -15) +
               padded(decimals(span.start_us / 1e3, 2), 10) +
               padded(decimals(span.end_us / 1e3, 2), 10) +
               padded(std::to_string(block_bytes(block)), 12) + "  " + id_ranges(block) + '\n';
    }
    return out;
}

}  // namespace ringrt::ringplan
