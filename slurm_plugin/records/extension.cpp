// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/records/extension.h"

#include <algorithm>
#include <array>

#include "slurm_plugin/records/fields.h"

namespace ringrt::records {

namespace {

constexpr std::string_view kExtensionMarker = "extension/1";
constexpr std::size_t kBytesMax = 128;

namespace extension_keys {
using Key = RecordKey<Extension>;

// The first three are required.
constexpr std::array kAll{
    Key{"of",
        [](std::string_view v, Extension &e) { return read_into(v, 1, UINT32_MAX - 1, e.base); }},
    Key{"run", [](std::string_view v, Extension &e) { return read_into(v, 0, 999'999, e.run); }},
    Key{"level", [](std::string_view v, Extension &e) { return read_into(v, 1, 64, e.level); }},
    Key{"asked",
        [](std::string_view v, Extension &e) { return read_number(v, 0, kTimeMax, e.asked_s); }},
};
}  // namespace extension_keys

}  // namespace

std::optional<Extension> parse_extension(std::string_view text) {
    return read_record<Extension>(text, kExtensionMarker, kBytesMax, extension_keys::kAll);
}

std::string format_extension(const Extension &extension) {
    std::string out(kExtensionMarker);
    append_int(out, "of", extension.base);
    append_int(out, "run", extension.run);
    append_int(out, "level", extension.level);
    if (extension.asked_s > 0)
        append_time(out, "asked", std::min(extension.asked_s, 1.0 * kTimeMax));
    return out;
}

std::string srun_record_name(uint32_t base_id) { return ".ringrt-srun-" + std::to_string(base_id); }

std::string extension_script(uint32_t base_id) {
    const std::string name = srun_record_name(base_id);
    const std::string refusal = name + ": expected a file of the job's own user";
    return "#!/bin/sh\n[ ! -L " + name + " ] && exec 3<" + name +
           " || exit 1\n[ -f /dev/fd/3 ] && [ -O /dev/fd/3 ] || { echo \"" + refusal +
           "\" >&2; exit 1; }\n. /dev/fd/3\n";
}

}  // namespace ringrt::records
