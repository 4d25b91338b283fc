// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/event.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace ringrt::controller {

namespace {

constexpr std::array<std::string_view, 14> kKinds{
    "released",      "downsized",     "asked", "requeued", "started", "resized", "called_off",
    "user_override", "launch_failed", "ended", "lost",     "refused", "dry_run", "error",
};

std::string fixed(double value, int digits) {
    char text[48];
    if (!(std::abs(value) < 1e15)) return "0";
    const auto end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits).ptr;
    return {text, end};
}

// Bytes that are not plain ASCII become '?': a JSON line must stay valid.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c >= 0x20 && c < 0x7f ? c : '?';
    }
    return out + '"';
}

}  // namespace

std::string_view to_string(EventKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string to_json(const Event &event) {
    std::string out = "{\"time\":" + fixed(event.time_s, 3);
    out += ",\"job\":" + std::to_string(event.job_id);
    out += ",\"event\":" + quoted(to_string(event.kind));
    out += ",\"from\":" + std::to_string(event.from) + ",\"to\":" + std::to_string(event.to);
    out += ",\"reason\":" + quoted(event.reason);
    out += ",\"gap_s\":" + fixed(event.gap_s, 2);
    out += ",\"text\":" + quoted(event.text);
    if (!event.name.empty())
        out += ",\"name\":" + quoted(event.name) + ",\"user\":" + std::to_string(event.user_id);
    return out + "}";
}

Past past_of(const std::string &lines) {
    Past out;
    const std::string completed = "\"text\":\"" + std::string(kCompleted);
    for (std::size_t at = 0, next = 0; at < lines.size(); at = next) {
        next = std::min(lines.find('\n', at), lines.size() - 1) + 1;
        double time_s = 0;
        unsigned job_id = 0;
        char kind[16] = "";
        if (std::sscanf(lines.c_str() + at, "{\"time\":%lf,\"job\":%u,\"event\":\"%15[a-z_]\"",
                        &time_s, &job_id, kind) != 3)
            continue;
        out.ended.erase(job_id);
        const bool asked = to_string(EventKind::asked) == kind;
        if (asked) out.asked_s[job_id] = time_s;
        if (asked || to_string(EventKind::requeued) == kind) {
            out.under_way_s[job_id] = time_s;
        } else {
            out.asked_s.erase(job_id);
            out.under_way_s.erase(job_id);
        }
        if (to_string(EventKind::ended) == kind || to_string(EventKind::lost) == kind) {
            const std::string_view line = std::string_view(lines).substr(at, next - at);
            out.ended[job_id] = {time_s, line.find(completed) != line.npos};
        }
    }
    return out;
}

}  // namespace ringrt::controller
