// SPDX-License-Identifier: BSD-3-Clause
// Lines of the plugin's event log, as ringstat reads them.
#include "tests/fuzz/fuzz.h"
#include "tools/ringstat/history.h"
#include "tools/ringstat/text.h"

using namespace ringrt::ringstat;
using namespace ringrt::fuzz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text = text_of(data, size);
    if (!text.empty())
        expect(is_one_line(printable(text), 8 * size), "hostile text is made printable");
    const auto event = parse_event(text);
    if (!event) return 0;
    expect(size <= kEventLineBytesMax, "a line that is too long is no event");
    expect(event->time_s > 0 && event->from >= 0 && event->to >= 0 && event->gap_s >= 0, "bounds");
    expect(is_one_line(event_line(*event), 16 * kEventLineBytesMax), "an event is one line");
    return 0;
}
