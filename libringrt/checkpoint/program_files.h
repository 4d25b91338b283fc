// SPDX-License-Identifier: BSD-3-Clause
// Files that the program itself writes into a checkpoint (ringrt_set_saver()). It writes and reads
// them; that they are on disk, whole and of this checkpoint is seen to here, by the manifest.
#pragma once

#include <string>
#include <vector>

#include "libringrt/base/group.h"
#include "libringrt/checkpoint/files.h"
#include "libringrt/checkpoint/manifest.h"

namespace ringrt::checkpoint {

class Store;

// What ringrt_set_saver() was given; save nullptr: the program writes no files.
struct ProgramSaver {
    ringrt_saver_fn save = nullptr, load = nullptr;
    void *context = nullptr;

    explicit operator bool() const { return save != nullptr; }
};

// This rank's part: the program writes its files into `folder`, and what is there is synced.
// CHECKPOINT_FAILED with the program's own line where it says so.
Status write_program_files(Files &files, const ProgramSaver &saver, const std::string &folder,
                           uint64_t step);

// The files in `folder` that are not the library's, with their hashes, by name. CHECKPOINT_FAILED
// where there is none, or one that is no plain file.
Status list_program_files(Files &files, const std::string &folder, std::vector<ProgramFile> &out);

// CORRUPT where one of `expected` is missing or is not what was written.
Status verify_program_files(Files &files, const std::string &folder,
                            const std::vector<ProgramFile> &expected);

// Collective: the program reads its files from the checkpoint that `store` started from.
// SYSTEM_ERROR with its line; MISMATCH where the checkpoint has such files and the program no
// saver, or the other way round. The outcome is the same on all ranks; `store` is used on rank 0
// only.
Status load_program_files(Group &group, const ProgramSaver &saver, const Store &store,
                          const Manifest &manifest);

}  // namespace ringrt::checkpoint
