// SPDX-License-Identifier: BSD-3-Clause
// --malleable, --malleable-signal, --malleable-grace, --malleable-pause.
#include "slurm_plugin/records/flag.h"

#include "tests/fuzz/fuzz.h"

using namespace ringrt::records;
using namespace ringrt::fuzz;

namespace {

template <typename Value>
const Value *value_of(const std::variant<Value, FlagError> &parsed) {
    if (const auto *error = std::get_if<FlagError>(&parsed))
        expect(is_one_line(error->message, 400), "a refused flag gets one line");
    return std::get_if<Value>(&parsed);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text = text_of(data, size);
    const auto parsed = parse_range(text);
    if (const GpuRange *range = value_of(parsed)) {
        expect(range->min >= 1 && range->max <= kGpusMax, "1 <= MIN, MAX <= 65536");
        expect(on_ladder(*range, range->min) && on_ladder(*range, range->max),
               "MIN and MAX are on the ladder");
        const auto again =
            parse_range(std::to_string(range->min) + ":" + std::to_string(range->max));
        const GpuRange *same = value_of(again);
        expect(same && same->min == range->min && same->max == range->max, "MIN:MAX reads back");
    }
    const auto signal = parse_signal(text);
    if (const int *number = value_of(signal))
        expect(*number >= 1 && *number <= 64 && *number != 9 && *number != 19,
               "a signal that can be handled");
    const auto grace = parse_grace(text);
    if (const int *seconds = value_of(grace))
        expect(*seconds >= 1 && *seconds <= 86400, "a grace time from 1 s to 1 day");
    const auto pause = parse_pause(text);
    if (const bool *may_pause = value_of(pause)) expect(*may_pause, "no value is a no");
    return 0;
}
