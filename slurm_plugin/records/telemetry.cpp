// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/records/telemetry.h"

#include <algorithm>
#include <array>
#include <span>

#include "slurm_plugin/records/fields.h"
#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::records {

namespace {

constexpr std::string_view kTelemetryMarker = "ringrt/1";
constexpr int64_t kRunMax = 999'999;
constexpr int64_t kBatchMax = UINT32_MAX;
constexpr double kMillisecondsMax = 1e9;  // 11 days

bool read_ms(std::string_view text, double &out) {
    return read_number(text, 0, kMillisecondsMax, out);
}

// "1:520,2:270": sizes with their step times; a repeated size counts once.
bool read_speeds(std::string_view text, std::span<SpeedSample> out, int &samples) {
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view sample = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t colon = sample.find(':');
        if (colon == std::string_view::npos || static_cast<std::size_t>(samples) == out.size())
            return false;
        SpeedSample &next = out[static_cast<std::size_t>(samples)];
        if (!read_into(sample.substr(0, colon), 1, kGpusMax, next.gpus)) return false;
        if (!read_ms(sample.substr(colon + 1), next.step_ms)) return false;
        const SpeedSample *first = out.data();
        const bool twice = std::any_of(
            first, first + samples, [&next](const SpeedSample &s) { return s.gpus == next.gpus; });
        if (!twice && next.step_ms > 0) ++samples;
    }
    return true;
}

namespace telemetry_keys {
using Key = RecordKey<Telemetry>;

// The first three are required.
constexpr std::array kAll{
    Key{"run", [](std::string_view v, Telemetry &t) { return read_into(v, 0, kRunMax, t.run); }},
    Key{"gpus", [](std::string_view v, Telemetry &t) { return read_into(v, 1, kGpusMax, t.gpus); }},
    Key{"step", [](std::string_view v, Telemetry &t) { return read_into(v, 0, kStepMax, t.step); }},
    Key{"step_ms", [](std::string_view v, Telemetry &t) { return read_ms(v, t.step_ms); }},
    Key{"left",
        [](std::string_view v, Telemetry &t) { return read_into(v, -1, kStepMax, t.steps_left); }},
    Key{"batch",
        [](std::string_view v, Telemetry &t) { return read_into(v, 1, kBatchMax, t.batch); }},
    Key{"samples",
        [](std::string_view v, Telemetry &t) { return read_into(v, 0, kStepMax, t.trained); }},
    Key{"ckpt",
        [](std::string_view v, Telemetry &t) { return read_into(v, 0, kStepMax, t.ckpt_step); }},
    Key{"save_ms", [](std::string_view v, Telemetry &t) { return read_ms(v, t.save_ms); }},
    Key{"began",
        [](std::string_view v, Telemetry &t) { return read_number(v, 0, kTimeMax, t.began_s); }},
    Key{"up", [](std::string_view v, Telemetry &t) { return read_into(v, 0, 1, t.up); }},
    Key{"live", [](std::string_view v, Telemetry &t) { return read_into(v, 0, 1, t.live); }},
    Key{"nodes",
        [](std::string_view v, Telemetry &t) { return read_into(v, 0, UINT32_MAX, t.nodes); }},
    Key{"speed",
        [](std::string_view v, Telemetry &t) { return read_speeds(v, t.speed, t.samples); }},
    Key{"plan", [](std::string_view v,
                   Telemetry &t) { return read_speeds(v, t.planned, t.planned_sizes); }},
};
}  // namespace telemetry_keys

// As many samples as fit into the record.
void append_speeds(std::string &record, std::string_view key, std::span<const SpeedSample> speeds) {
    std::string list;
    for (const SpeedSample &speed : speeds) {
        std::string sample = (list.empty() ? "" : ",") + std::to_string(speed.gpus) + ":" +
                             number_text(speed.step_ms);
        const std::size_t bytes = key.size() + 2 + list.size() + sample.size();  // " key="
        if (record.size() + bytes > kRecordBytesMax) break;
        list += sample;
    }
    if (!list.empty()) append_text(record, key, list);
}

std::span<const SpeedSample> first(std::span<const SpeedSample> all, int count) {
    return all.first(std::min(static_cast<std::size_t>(std::max(count, 0)), all.size()));
}

int64_t clipped(uint64_t step) { return static_cast<int64_t>(std::min<uint64_t>(step, kStepMax)); }

}  // namespace

uint32_t node_checksum(std::string_view node) {
    constexpr uint32_t kOffset = 2166136261, kPrime = 16777619;
    uint32_t sum = kOffset;
    for (const char c : node) sum = (sum ^ static_cast<unsigned char>(c)) * kPrime;
    return sum == 0 ? 1 : sum;
}

std::optional<Telemetry> parse_telemetry(std::string_view text) {
    return read_record<Telemetry>(text, kTelemetryMarker, kRecordBytesMax, telemetry_keys::kAll);
}

std::string format_telemetry(const Telemetry &t) {
    std::string out(kTelemetryMarker);
    append_int(out, "run", t.run);
    append_int(out, "gpus", t.gpus);
    append_int(out, "step", clipped(t.step));
    if (t.step_ms > 0) append_number(out, "step_ms", std::min(t.step_ms, kMillisecondsMax));
    if (t.steps_left >= 0) append_int(out, "left", std::min(t.steps_left, kStepMax));
    if (t.batch > 0) {
        append_int(out, "batch", t.batch);
        append_int(out, "samples", clipped(t.trained));
    }
    append_int(out, "ckpt", clipped(t.ckpt_step));
    if (t.save_ms > 0) append_number(out, "save_ms", std::min(t.save_ms, kMillisecondsMax));
    if (t.began_s >= 0.1) append_time(out, "began", std::min(t.began_s, 1.0 * kTimeMax));
    append_int(out, "up", t.up ? 1 : 0);
    if (t.live) append_int(out, "live", 1);
    if (t.nodes != 0) append_int(out, "nodes", t.nodes);
    append_speeds(out, "speed", first(t.speed, t.samples));
    append_speeds(out, "plan", first(t.planned, t.planned_sizes));
    return out;
}

std::string format_into(std::string_view user_text, const Telemetry &telemetry) {
    return replace_record(user_text, kTelemetryMarker, format_telemetry(telemetry));
}

}  // namespace ringrt::records
