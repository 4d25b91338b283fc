// SPDX-License-Identifier: BSD-3-Clause
// Files that the program writes into a checkpoint (ringrt_set_saver()). The program writes and
// reads them. This module syncs them and checks them against the manifest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "libringrt/base/group.h"
#include "libringrt/checkpoint/files.h"
#include "libringrt/checkpoint/manifest.h"

namespace ringrt::checkpoint {

class Store;

// The arguments of ringrt_set_saver(); save nullptr: the program writes no files.
struct ProgramSaver {
    ringrt_checkpoint_saver_fn save = nullptr, load = nullptr;
    void *context = nullptr;

    explicit operator bool() const { return save != nullptr; }
};

// Runs a callback that leaves one line in its buffer on failure, and returns whether it returned 0.
bool run_callback(const std::function<int(char *error, size_t bytes)> &callback, std::string &why);

// This rank's part: the program writes its files into `directory`, then they are synced.
// CHECKPOINT_FAILED with the program's own error line.
Status write_program_files(Files &files, const ProgramSaver &saver, const std::string &directory,
                           uint64_t step);

// The files in `directory` that are not the library's, with hashes, sorted by name.
// CHECKPOINT_FAILED if there is none, or one is not a plain file.
Status list_program_files(Files &files, const std::string &directory,
                          std::vector<ProgramFile> &out);

// CORRUPT if one of `expected` is missing or differs from what was written.
Status verify_program_files(Files &files, const std::string &directory,
                            const std::vector<ProgramFile> &expected);

// Collective: the program reads its files from the checkpoint that `store` started from.
// SYSTEM_ERROR with the program's line; MISMATCH if the checkpoint has such files and the program
// has no saver, or vice versa. The outcome is the same on all ranks; `store` is used only on rank
// 0.
Status load_program_files(Group &group, const ProgramSaver &saver, const Store &store,
                          const Manifest &manifest);

}  // namespace ringrt::checkpoint
