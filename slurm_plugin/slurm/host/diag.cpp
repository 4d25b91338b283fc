// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/diag.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace ringrt::slurm {
namespace {

constexpr std::size_t kTextBytesMax = 400;

// Bytes other than plain ASCII become '?', so that the line stays valid JSON.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text.substr(0, kTextBytesMax)) {
        if (c == '"' || c == '\\') out += '\\';
        out += c >= 0x20 && c < 0x7f ? c : '?';
    }
    return out + '"';
}

std::string fixed(double value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.3f", value);
    return text;
}

template <typename Number>
void add(std::string &out, const char *name, Number value) {
    if (out.back() != '{') out += ',';
    out += quoted(name) + ':';
    if constexpr (std::is_floating_point_v<Number>)
        out += fixed(value);
    else
        out += std::to_string(value);
}

void add_text(std::string &out, std::string_view name, std::string_view text, bool quote = true) {
    if (out.back() != '{') out += ',';
    out += quoted(name) + ':' + (quote ? quoted(text) : std::string(text));
}

std::string counts(const controller::ResizeCounts &resizes) {
    std::string out = "{";
    add(out, "asked", resizes.asked);
    add(out, "resized", resizes.resized);
    add(out, "called_off", resizes.called_off);
    add(out, "lost", resizes.lost);
    add(out, "refused", resizes.refused);
    return out + "}";
}

std::string times(uint64_t count, double last_ms, double total_ms, double worst_ms) {
    std::string out = "{";
    add(out, "count", count);
    add(out, "last_ms", last_ms);
    add(out, "mean_ms", count > 0 ? total_ms / static_cast<double>(count) : 0.0);
    add(out, "worst_ms", worst_ms);
    return out;  // the caller closes it
}

std::string api_times(const ApiTimes &api) {
    std::string out = "{";
    for (std::size_t i = 0; i < kCallNames.size(); ++i) {
        const ApiTimes::Entry &entry = api.entries()[i];
        if (entry.calls == 0) continue;
        std::string one = times(entry.calls, entry.last_ms, entry.total_ms, entry.worst_ms);
        add(one, "failed", entry.failed);
        add_text(out, kCallNames[i], one + "}", false);
    }
    return out + "}";
}

}  // namespace

void PassTimes::add(double took_ms) {
    ++passes;
    last_ms = took_ms;
    total_ms += took_ms;
    worst_ms = std::max(worst_ms, took_ms);
}

std::string to_json(const Diag &diag) {
    const controller::Statistics &s = *diag.statistics;
    std::string out = "{", reasons = "{", why = "{";
    for (const auto &[reason, resizes] : s.by_reason)
        add_text(reasons, reason, counts(resizes), false);
    for (const auto &[cause, count] : s.called_off_why) add(why, cause.c_str(), count);
    add(out, "time", diag.time_s);
    add(out, "started", diag.started_s);
    add(out, "pid", static_cast<int>(getpid()));
    add_text(out, "mode", controller::get_parameter(*diag.options, "mode"));
    add_text(out, "policy", diag.options->policy);
    add_text(
        out, "passes",
        times(diag.passes.passes, diag.passes.last_ms, diag.passes.total_ms, diag.passes.worst_ms) +
            "}",
        false);
    add_text(out, "refusal", diag.refusal);
    add(out, "refused_since", diag.refused_since_s);
    add(out, "exceptions", s.exceptions);
    add_text(out, "last_exception", s.last_exception);
    add(out, "failed_observations", s.failed_observations);
    add(out, "malleable", s.malleable);
    add(out, "waiting", s.waiting);
    add(out, "paused", s.paused);
    add(out, "pauses", s.pauses);
    add(out, "gpus_held", s.gpus_held);
    add(out, "gpus_borrowed", s.gpus_borrowed);
    add(out, "restarts", s.restarts);
    add(out, "restart_s", s.restart_s);
    add(out, "restart_gpu_s", s.restart_gpu_s);
    add(out, "in_flight", s.in_flight);
    add(out, "in_flight_most", diag.options->resizes_in_flight);
    add(out, "breaker_until", s.breaker_until_s);
    add_text(out, "resizes", counts(s.resizes), false);
    add_text(out, "by_reason", reasons + "}", false);
    add_text(out, "called_off_why", why + "}", false);
    add_text(out, "api", api_times(*diag.api), false);
    return out + "}\n";
}

std::string to_json(const std::vector<controller::Explanation> &explanations,
                    const controller::Options &options, double time_s) {
    std::string out = "{";
    add(out, "time", time_s);
    add_text(out, "mode", controller::get_parameter(options, "mode"));
    std::string jobs = "[";
    for (const controller::Explanation &one : explanations) {
        std::string job = "{";
        add(job, "job", one.job_id);
        add(job, "gpus", one.gpus);
        add(job, "wanted", one.wanted);
        add_text(job, "reason", one.reason);
        add_text(job, "text", one.text);
        jobs += (jobs.size() > 1 ? "," : "") + job + "}";
    }
    add_text(out, "jobs", jobs + "]", false);
    return out + "}\n";
}

bool write_diag(const std::string &path, const std::string &json) {
    // Follows no link, and does not wait for the reader of a pipe.
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const std::string fresh = path + ".new";
    const int file = open(fresh.c_str(), kFlags, 0644);
    if (file < 0) return false;
    const bool whole = ::write(file, json.data(), json.size()) == static_cast<ssize_t>(json.size());
    const bool closed = close(file) == 0;
    return whole && closed && std::rename(fresh.c_str(), path.c_str()) == 0;
}

}  // namespace ringrt::slurm
