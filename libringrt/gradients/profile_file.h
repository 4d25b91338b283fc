// SPDX-License-Identifier: BSD-3-Clause
// RINGRT_PROFILE: the profile that was measured while training, as a CSV that ringplan(1) reads.
#pragma once

#include <string>

#include "libringrt/bucketing/profile.h"

namespace ringrt {

// Replaces `file` at once: a reader never sees half of it. Where it cannot be written, one line on
// standard error.
void write_profile(const std::string &file, const bucketing::Profile &profile);

}  // namespace ringrt
