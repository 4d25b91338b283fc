// SPDX-License-Identifier: BSD-3-Clause
// Gradient profiles (CSV), which ringplan reads.
#include "libringrt/bucketing/profile.h"

#include <cmath>

#include "tests/fuzz/fuzz.h"

using namespace ringrt::bucketing;
using namespace ringrt::fuzz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    std::string error;
    const auto profile = parse_profile(text_of(data, size), error);
    if (!profile) {
        expect(is_one_line(error), "a refused profile gets one line");
        return 0;
    }
    expect(!profile->gradients.empty() && profile->gradients.size() <= kMaxGradients, "gradients");
    for (const Gradient &gradient : profile->gradients) {
        expect(gradient.bytes <= kMaxGradientBytes, "bytes");
        expect(gradient.forward_us >= 0 && gradient.forward_us <= kMaxTimeUs, "forward time");
        expect(std::isfinite(gradient.ready_us) && gradient.ready_us >= 0, "ready time");
    }
    if (backward_us(*profile) > kMaxTimeUs) return 0;  // summed up from bwd_us
    const std::string text = format_profile(*profile);
    const auto again = parse_profile(text, error);
    expect(again.has_value(), "a profile that was written can be read");
    expect(format_profile(*again) == text, "reading and writing a profile changes nothing");
    return 0;
}
