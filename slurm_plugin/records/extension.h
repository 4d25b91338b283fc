// SPDX-License-Identifier: BSD-3-Clause
// An extension's record in its AdminComment (doc/live.md): its base, and whether it was asked to
// leave. Only Slurm's administrators can write it; it is bounded and parsed as untrusted anyway.
//
//   extension/1 of=12 run=0 level=1 asked=1763721600
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::records {

struct Extension {
    uint32_t base = 0;   // the base's job ID
    int run = 0;         // the base's run: Slurm's restart count
    int level = 1;       // joins the base and the extensions of lower levels
    double asked_s = 0;  // Unix time at which it was asked to leave; 0: not asked

    bool operator==(const Extension &) const = default;
};

[[nodiscard]] std::optional<Extension> parse_extension(std::string_view text);
[[nodiscard]] std::string format_extension(const Extension &extension);

// File in the base's working directory that records the base's srun command.
[[nodiscard]] std::string srun_record_name(uint32_t base_id);
// The batch script of an extension: it repeats that srun. In a directory that others can write to,
// a file of that name may belong to another user, or be created after the base's srun has ended. So
// the script opens the file first, and runs it only if the open file belongs to the job's owner.
[[nodiscard]] std::string extension_script(uint32_t base_id);
// In an extension's environment: the base's job ID, and the number of tasks in its step.
inline constexpr char kExtends[] = "RINGRT_EXTENDS";
inline constexpr char kExtensionTasks[] = "RINGRT_EXTENSION_TASKS";

}  // namespace ringrt::records
