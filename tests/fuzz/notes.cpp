// SPDX-License-Identifier: BSD-3-Clause
// What a checkpoint keeps for the next run: the gradients' times, and the loss curve.
#include "libringrt/gradients/learned.h"
#include "libringrt/job/loss_curve.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt;
using namespace ringrt::fuzz;

namespace {

void try_learned(std::string_view text) {
    const auto learned = parse_learned(text);
    if (!learned) return;
    const std::string written = format_learned(*learned);
    const auto again = parse_learned(written);
    expect(again && format_learned(*again) == written, "what was written can be read");
    for (const int ranks : {1, 2, 16}) {
        const double step_ms =
            planned_step_ms(*bucketing::find_rule("predictive"), *learned, 2, ranks, 32);
        expect(step_ms >= 0, "a planned step takes no time before it begins");
    }
}

void try_curve(std::string_view text) {
    job::LossCurve curve;
    curve.restore(text);
    const std::string kept = curve.text();
    job::LossCurve again;
    again.restore(kept);
    expect(again.text() == kept, "what was written can be read");
    if (text.size() % 16 != 0) return;  // a fit takes ten times as long as all the rest
    constexpr double kStep = 1e6;
    curve.add(kStep, 0.5, 0.1);
    const auto left = curve.steps_left(kStep);
    expect(!left || *left <= 100 * kStep, "no guess goes beyond a hundred times the steps made");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text = text_of(data, size);
    try_learned(text);
    try_curve(text);
    return 0;
}
