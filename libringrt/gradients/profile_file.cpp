// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/profile_file.h"

#include <cstdio>

namespace ringrt {

void write_profile(const std::string &file, const bucketing::Profile &profile) {
    const std::string text = format_profile(profile), fresh = file + ".new";
    std::FILE *out = std::fopen(fresh.c_str(), "w");
    bool good = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    good = out != nullptr && std::fclose(out) == 0 && good;
    if (!good || std::rename(fresh.c_str(), file.c_str()) != 0)
        std::fprintf(stderr, "ringrt: RINGRT_PROFILE: %s cannot be written\n", file.c_str());
}

}  // namespace ringrt
