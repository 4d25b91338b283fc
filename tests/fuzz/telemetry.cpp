// SPDX-License-Identifier: BSD-3-Clause
// The job's record in its Comment, which its owner can forge.
#include "slurm_plugin/records/telemetry.h"

#include <cmath>

#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/intent.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt::records;
using namespace ringrt::fuzz;

namespace {

bool is_time(double ms) { return std::isfinite(ms) && ms >= 0 && ms <= 1e9; }

void check_bounds(const Telemetry &t) {
    expect(t.run >= 0 && t.gpus >= 1 && t.gpus <= kGpusMax, "run and size");
    expect(is_time(t.step_ms) && is_time(t.save_ms), "times");
    expect(t.steps_left >= -1, "steps left");
    expect(std::isfinite(t.steps_done()) && t.steps_done() >= 0, "steps done");
    expect(std::isfinite(t.samples_per_s()) && t.samples_per_s() >= 0, "samples in a second");
    expect(t.samples >= 0 && t.samples <= kSpeedSamplesMax, "samples");
    for (int i = 0; i < t.samples; ++i) {
        expect(t.speed[i].gpus >= 1 && t.speed[i].gpus <= kGpusMax, "a sample's size");
        expect(is_time(t.speed[i].step_ms) && t.speed[i].step_ms > 0, "a sample's time");
        for (int k = 0; k < i; ++k)
            expect(t.speed[i].gpus != t.speed[k].gpus, "one sample per size");
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text = text_of(data, size);
    const auto telemetry = parse_telemetry(text);
    if (!telemetry) return 0;
    check_bounds(*telemetry);
    const std::string record = format_telemetry(*telemetry);
    expect(record.size() <= kRecordBytesMax && is_one_line(record), "a record is one bounded line");
    const auto again = parse_telemetry(record);
    expect(again.has_value(), "a record that was written can be read");
    expect(format_telemetry(*again) == record, "reading and writing a record changes nothing");
    const std::string inside = format_into(text, *telemetry);
    const auto replaced = parse_telemetry(inside);
    expect(replaced && format_telemetry(*replaced) == record, "a record is found where it was put");
    return 0;
}
