// SPDX-License-Identifier: GPL-2.0-or-later
// The srun call of a malleable job, recorded as a shell script that repeats it in an extension
// (doc/live.md). Independent of Slurm.
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
    std::size_t program_words = 0;  // the last words of `arguments`: the program and its arguments
    std::vector<std::string> environment;  // "NAME=value", as at srun's start
    std::string directory;                 // srun's working directory at its start
    mode_t umask = 022;
    std::optional<uint64_t> open_files;  // soft limit; none: unlimited
};

// For sh in the extension's own job, with records::kExtensionTasks in its environment. nullopt:
// longer than kSrunRecordBytesMax, or not an srun of a program.
[[nodiscard]] std::optional<std::string> script_of(const SrunCall &call);

// srun's options without those for the size of its step or for the job it belongs to.
[[nodiscard]] std::vector<std::string> without_size(const std::vector<std::string> &options);

// Whether an extension inherits this variable of the base: not those that Slurm sets for each job.
[[nodiscard]] bool is_passed_on(std::string_view entry);

// The value of --wait or SLURM_WAIT; empty: 0, or not given.
[[nodiscard]] std::string step_wait(const SrunCall &call);

// Set for the tasks of a step with a recorded srun.
inline constexpr char kExtendable[] = "RINGRT_EXTENDABLE";

// The same with --wait: Slurm ends the step so many seconds after its first task.
inline constexpr char kStepWait[] = "RINGRT_STEP_WAIT";

}  // namespace ringrt::slurm
