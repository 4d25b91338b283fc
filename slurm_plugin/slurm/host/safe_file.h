// SPDX-License-Identifier: GPL-2.0-or-later
// Files that an administrator names or may replace: whatever is at the path (a FIFO, a device, a
// directory, a huge file), no call blocks, and no file is left partly written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

namespace ringrt::slurm {

struct FileError {
    bool missing = false;  // the file does not exist
    std::string text;      // "cannot open: Permission denied", without the path
};

// The whole file; of a longer file, its first bytes_max + 1 bytes.
[[nodiscard]] std::variant<std::string, FileError> read_file(const std::string &path,
                                                             std::size_t bytes_max);

// Replaces the file at `path` by `content`. On failure (a full disk, a crash) it stays as it was.
// nullopt: done.
[[nodiscard]] std::optional<std::string> replace_file(const std::string &path,
                                                      const std::string &content);

// Opens a regular file for appending, and creates it if needed. On failure returns -1 and sets
// `error`.
[[nodiscard]] int open_to_append(const std::string &path, std::string &error);

}  // namespace ringrt::slurm
