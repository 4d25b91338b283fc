// SPDX-License-Identifier: GPL-2.0-or-later
// An srun of a malleable job, written down as a shell script that repeats it in an extension
// (doc/live.md). Knows nothing of Slurm.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::slurm {

inline constexpr std::size_t kSrunRecordBytesMax = 1 << 20;

struct SrunCall {
    std::vector<std::string> arguments;  // srun itself comes first
    std::size_t program_words = 0;  // the last so many of them: the program, and what it is given
    std::vector<std::string> environment;  // "NAME=value", as srun was started with
    std::string folder;                    // it was started in
    mode_t umask = 022;
    std::optional<uint64_t> open_files;  // soft limit; none: unlimited
};

// Run by sh in the extension's own job, with records::kExtensionTasks in its environment. nullopt:
// longer than kSrunRecordBytesMax, or not an srun of a program.
[[nodiscard]] std::optional<std::string> script_of(const SrunCall &call);

// srun's options without those that say how large its step is, or which job it belongs to.
[[nodiscard]] std::vector<std::string> without_size(const std::vector<std::string> &options);

// What of the base's environment an extension has too: not what Slurm sets for each job.
[[nodiscard]] bool is_passed_on(std::string_view entry);

// Set for the tasks of a step whose srun is recorded.
inline constexpr char kExtendable[] = "RINGRT_EXTENDABLE";

}  // namespace ringrt::slurm
