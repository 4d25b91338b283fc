// SPDX-License-Identifier: BSD-3-Clause
// The scheduler's record in a job's AdminComment.
#include "slurm_plugin/records/intent.h"

#include "slurm_plugin/records/flag.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt::records;
using namespace ringrt::fuzz;

namespace {

void check_bounds(const Intent &i) {
    expect(i.gpus_min >= 1 && i.gpus_min <= i.gpus_max && i.gpus_max <= kGpusMax,
           "1 <= min <= max");
    expect(i.signal >= 1 && i.signal <= 64, "signal");
    expect(i.grace_s >= 1 && i.grace_s <= 86400, "grace");
    expect(i.layout.gpus_per_node >= 0 && i.layout.gpus_per_node <= kGpusMax, "GPUs per node");
    expect(i.gpus >= 0 && i.gpus <= kGpusMax && i.target >= 0 && i.target <= kGpusMax, "sizes");
    expect(i.since_s >= 0 && i.asked_s >= 0 && i.begin_s >= 0 && i.start_s >= 0, "times");
    expect(i.limit_s >= -1 && i.used_s >= 0 && i.gap_s >= 0 && i.restart_s >= 0, "durations");
    expect(i.run >= -1 && i.base_step >= -1 && i.resizes >= 0, "counts");
    expect(i.why.size() <= 24, "reason");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text = text_of(data, size);
    const auto intent = parse_intent(text);
    if (!intent) return 0;
    check_bounds(*intent);
    const std::string record = format_intent(*intent);
    expect(record.size() <= kRecordBytesMax && is_one_line(record), "a record is one bounded line");
    const auto again = parse_intent(record);
    expect(again.has_value(), "a record that was written can be read");
    expect(format_intent(*again) == record, "reading and writing a record changes nothing");
    const std::string inside = format_into(text, *intent);
    const auto replaced = parse_intent(inside);
    expect(replaced && format_intent(*replaced) == record, "a record is found where it was put");
    expect(format_into(inside, *intent) == inside, "a record replaces its like");
    return 0;
}
