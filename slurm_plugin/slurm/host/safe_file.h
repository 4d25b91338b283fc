// SPDX-License-Identifier: GPL-2.0-or-later
// Files that an administrator names or may put in our place: whatever stands there (a FIFO, a
// device, a folder, a huge file), nothing here blocks, and no file is ever left half written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

namespace ringrt::slurm {

struct FileError {
    bool missing = false;  // there is no such file
    std::string text;      // "cannot open: Permission denied", without the path
};

// The whole file, or its first bytes_max + 1 bytes where it is longer.
[[nodiscard]] std::variant<std::string, FileError> read_file(const std::string &path,
                                                             std::size_t bytes_max);

// The file at `path` becomes `content`, or stays as it was (a full disk, a crash). nullopt: done.
[[nodiscard]] std::optional<std::string> replace_file(const std::string &path,
                                                      const std::string &content);

// Opens a regular file to append to it, and makes it where there is none; -1 and `error` otherwise.
[[nodiscard]] int open_to_append(const std::string &path, std::string &error);

}  // namespace ringrt::slurm
