// SPDX-License-Identifier: BSD-3-Clause
// RINGRT_PROFILE: writes the profile measured during training as a CSV for ringplan(1).
#pragma once

#include <string>

#include "libringrt/bucketing/profile.h"

namespace ringrt {

// Replaces `file` atomically, so no reader sees a partial file. If it cannot be written, prints one
// line on standard error.
void write_profile(const std::string &file, const bucketing::Profile &profile);

}  // namespace ringrt
