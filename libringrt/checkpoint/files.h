// SPDX-License-Identifier: BSD-3-Clause
// The few file operations that checkpoints need, behind an interface so that tests can fail,
// shorten or cut off every one of them.
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
    virtual int open_new(const std::string &path) = 0;  // for writing; fails where it exists
    virtual int open_read(const std::string &path) = 0;
    virtual int64_t write(int fd, std::span<const std::byte> bytes) = 0;  // may be short
    virtual int64_t read_at(int fd, std::span<std::byte> bytes, uint64_t offset) = 0;
    virtual int64_t size(int fd) = 0;
    virtual int start_writeback(int fd, uint64_t offset, uint64_t bytes) = 0;  // a hint
    virtual int sync_data(int fd) = 0;
    virtual int close(int fd) = 0;
    virtual int make_folder(const std::string &path) = 0;
    virtual int sync_folder(const std::string &path) = 0;
    virtual int rename(const std::string &from, const std::string &to) = 0;
    virtual int remove(const std::string &path) = 0;
    virtual int remove_folder(const std::string &path) = 0;
    virtual int list(const std::string &path, std::vector<std::string> &names) = 0;
    virtual int64_t free_bytes(const std::string &path) = 0;  // for this user
};

Files &real_files();

// ---- made of the above; 0 or -errno -------------------------------------------------------------

// Writes all of it: goes on after short writes and EINTR.
int write_all(Files &files, int fd, std::span<const std::byte> bytes);

// Fills all of `bytes`; -ENODATA where the file ends before.
int read_all(Files &files, int fd, std::span<std::byte> bytes, uint64_t offset);

// A new file with nothing in it to sync; its name lasts once its folder is synced.
int make_empty_file(Files &files, const std::string &path);

// A new file with this text, synced and closed. A file of that name is an error.
int write_new_file(Files &files, const std::string &path, const std::string &text);

// The text of a file of at most `bytes_max`; -EFBIG where it is longer.
int read_file(Files &files, const std::string &path, size_t bytes_max, std::string &text);

// A folder and the folders above it; one that exists is fine.
int make_folders(Files &files, const std::string &path);

// A folder of plain files and the files in it. One that does not exist is fine.
int remove_flat_folder(Files &files, const std::string &path);

// CHECKPOINT_FAILED with "checkpoint failed: no space left: …" and the like.
Status write_failure(int negative_errno, const std::string &path);

}  // namespace ringrt::checkpoint
