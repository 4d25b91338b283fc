// SPDX-License-Identifier: BSD-3-Clause
// What an extension's AdminComment says of it (doc/live.md): whose it is, and whether it was asked
// to leave. Only Slurm's administrators can write it; it is bounded and parsed as hostile all the
// same.
//
//   extension/1 of=12 run=0 level=1 asked=1763721600
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::records {

struct Extension {
    uint32_t base = 0;   // the base job's number
    int run = 0;         // of the base: Slurm's restart count
    int level = 1;       // it joins the base and the extensions of lower levels
    double asked_s = 0;  // Unix time at which it was asked to leave (0: it was not)

    bool operator==(const Extension &) const = default;
};

[[nodiscard]] std::optional<Extension> parse_extension(std::string_view text);
[[nodiscard]] std::string format_extension(const Extension &extension);

// Where an extension finds how its base's srun was called, in the base's working directory.
[[nodiscard]] std::string srun_record_name(uint32_t base_id);
// The batch script of an extension: repeats that srun. In a folder that others can write into, a
// file of that name may be somebody else's, or be put there when the base's srun has ended: it is
// run only where the very file that is open is the owner's own.
[[nodiscard]] std::string extension_script(uint32_t base_id);
// In an extension's environment: its base's number, and the tasks of its step.
inline constexpr char kExtends[] = "RINGRT_EXTENDS";
inline constexpr char kExtensionTasks[] = "RINGRT_EXTENSION_TASKS";

}  // namespace ringrt::records
