// SPDX-License-Identifier: BSD-3-Clause
// The file operations that checkpoints need, behind an interface so that tests can make each of
// them fail, return short or stop.
//
// Every operation returns >= 0 on success and -errno on failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libringrt/base/status.h"

namespace ringrt::checkpoint {

class Files {
  public:
    virtual ~Files() = default;
    virtual int open_new(const std::string &path) = 0;  // for writing; fails if it exists
    virtual int open_read(const std::string &path) = 0;
    virtual int64_t write(int fd, std::span<const std::byte> bytes) = 0;  // may be short
    // Several threads may read a file at once.
    virtual int64_t read_at(int fd, std::span<std::byte> bytes, uint64_t offset) = 0;
    virtual int64_t size(int fd) = 0;
    virtual int start_writeback(int fd, uint64_t offset, uint64_t bytes) = 0;  // a hint
    virtual int sync_data(int fd) = 0;
    virtual int close(int fd) = 0;
    virtual int make_directory(const std::string &path) = 0;
    virtual int sync_directory(const std::string &path) = 0;
    virtual int rename(const std::string &from, const std::string &to) = 0;
    virtual int remove(const std::string &path) = 0;
    virtual int remove_directory(const std::string &path) = 0;
    virtual int list(const std::string &path, std::vector<std::string> &names) = 0;
    virtual int64_t free_bytes(const std::string &path) = 0;  // available to this user
};

Files &real_files();

// ---- built on the above; return 0 or -errno -----------------------------------------------------

// Writes all bytes: continues after short writes and EINTR.
int write_all(Files &files, int fd, std::span<const std::byte> bytes);

// Fills all of `bytes`; -ENODATA if the file ends first.
int read_all(Files &files, int fd, std::span<std::byte> bytes, uint64_t offset);

// Creates an empty file, which needs no sync. Its name is durable when its directory is synced.
int make_empty_file(Files &files, const std::string &path);

// Creates a file with this text, syncs and closes it. An existing file is an error.
int write_new_file(Files &files, const std::string &path, const std::string &text);

// Reads a file of at most `bytes_max` bytes; -EFBIG if it is longer.
int read_file(Files &files, const std::string &path, size_t bytes_max, std::string &text);

// Creates a directory and its parents. An existing directory is not an error.
int make_directories(Files &files, const std::string &path);

// Removes a directory of plain files. A missing directory is not an error.
int remove_flat_directory(Files &files, const std::string &path);

// CHECKPOINT_FAILED with a message such as "checkpoint failed: no space left: …".
Status write_failure(int negative_errno, const std::string &path);

}  // namespace ringrt::checkpoint
