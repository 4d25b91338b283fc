// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/diag.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

using Json = nlohmann::json;

constexpr double kSilent_s =
    60;  // the plugin writes every few seconds, after a failure twice a minute

// A value of the wrong type counts as missing: the file may be of a later version.
const Json &at(const Json &json, const char *key) {
    static const Json nothing;
    const auto found = json.is_object() ? json.find(key) : json.end();
    return json.is_object() && found != json.end() ? *found : nothing;
}

double number(const Json &json, const char *key) {
    const Json &value = at(json, key);
    return value.is_number() ? value.get<double>() : 0;
}

std::string text(const Json &json, const char *key) {
    const Json &value = at(json, key);
    return value.is_string() ? printable(value.get<std::string>()) : "?";
}

__attribute__((format(printf, 2, 3))) void line(std::string &out, const char *format, ...) {
    char buffer[600];
    va_list values;
    va_start(values, format);
    std::vsnprintf(buffer, sizeof buffer, format, values);
    va_end(values);
    out += buffer;
    out += '\n';
}

void add_times(std::string &out, const std::string &name, const Json &times) {
    line(out, "  %-24.24s %10.0f %9.2f %9.2f %9.2f %8.0f", name.c_str(), number(times, "count"),
         number(times, "last_ms"), number(times, "mean_ms"), number(times, "worst_ms"),
         number(times, "failed"));
}

void add_counts(std::string &out, const std::string &name, const Json &counts) {
    line(out, "  %-24.24s %10.0f %9.0f %10.0f %8.0f %8.0f", name.c_str(), number(counts, "asked"),
         number(counts, "resized"), number(counts, "called_off"), number(counts, "lost"),
         number(counts, "refused"));
}

void add_head(std::string &out, const Json &json, double now_s) {
    const double silent_s = now_s - number(json, "time");
    const double closed_in_s = number(json, "breaker_until") - now_s;
    line(out, "mode %s, policy %s, slurmctld's pid %.0f", text(json, "mode").c_str(),
         text(json, "policy").c_str(), number(json, "pid"));
    line(out, "last pass %.0f s ago, started %.0f s ago", silent_s,
         now_s - number(json, "started"));
    if (silent_s > kSilent_s)
        line(out, "NO PASS for %.0f s: slurmctld is down, or its plugin's thread hangs in a call",
             silent_s);
    if (!text(json, "refusal").empty() && number(json, "refused_since") > 0)
        line(out, "REFUSED for %.0f s: %.400s\n  the last accepted configuration stays in force",
             now_s - number(json, "refused_since"), text(json, "refusal").c_str());
    if (closed_in_s > 0)
        line(out, "NO RESIZES for %.0f s more: those of several jobs in a row failed", closed_in_s);
    if (number(json, "exceptions") > 0)
        line(out, "%.0f passes failed, the last one: %.150s", number(json, "exceptions"),
             text(json, "last_exception").c_str());
    line(out, "malleable jobs %.0f (%.0f wait), resizes under way %.0f of at most %.0f",
         number(json, "malleable"), number(json, "waiting"), number(json, "in_flight"),
         number(json, "in_flight_most"));
    const double paused = number(json, "paused"), pauses = number(json, "pauses");
    if (paused > 0 || pauses > 0)
        line(out, "paused jobs %.0f, pauses since the start %.0f", paused, pauses);
    line(out, "their GPUs %.0f, %.0f of them borrowed: above MIN", number(json, "gpus_held"),
         number(json, "gpus_borrowed"));
    if (const double restarts = number(json, "restarts"); restarts > 0)
        line(out, "stops and restarts %.0f, mean %.1f s, together at most %.0f GPU-seconds",
             restarts, number(json, "restart_s") / restarts, number(json, "restart_gpu_s"));
}

std::string report(const Json &json, double now_s) {
    std::string out;
    add_head(out, json, now_s);
    line(out, "\n  %-24s %10s %9s %9s %9s %8s", "TIMES", "COUNT", "LAST_MS", "MEAN_MS", "WORST_MS",
         "FAILED");
    add_times(out, "pass", at(json, "passes"));
    for (const auto &[name, times] : at(json, "api").items())
        add_times(out, printable(name), times);
    line(out, "\n  %-24s %10s %9s %10s %8s %8s", "RESIZES", "ASKED", "RESIZED", "CALLED_OFF",
         "LOST", "REFUSED");
    add_counts(out, "all", at(json, "resizes"));
    for (const auto &[name, counts] : at(json, "by_reason").items())
        add_counts(out, printable(name), counts);
    for (const auto &[cause, count] : at(json, "called_off_why").items())
        if (count.is_number())
            line(out, "  called off, %s: %.0f", printable(cause).c_str(), count.get<double>());
    return out;
}

}  // namespace

DiagReport parse_diag(std::string_view json, double now_s) {
    if (json.size() > kDiagBytesMax) return {.error = "longer than 65536 bytes"};
    const Json parsed = Json::parse(json, nullptr, false);
    if (!parsed.is_object() || number(parsed, "time") <= 0)
        return {.error = "it is not a status file of the plugin"};
    return {.text = report(parsed, now_s),
            .json = parsed.dump(2, ' ', true, Json::error_handler_t::replace) + "\n"};
}

DiagReport read_diag(const std::string &path, double now_s) {
    std::ifstream file(path, std::ios::binary);
    std::string content(kDiagBytesMax + 1, '\0');
    if (!file)
        return {.error = "cannot open " + path + ": " + std::strerror(errno) +
                         " (does slurmctld run sched/doubling?)"};
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(file.gcount()));
    DiagReport out = parse_diag(content, now_s);
    if (!out.error.empty()) out.error = path + ": " + out.error;
    return out;
}

}  // namespace ringrt::ringstat
