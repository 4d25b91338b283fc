// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace ringrt::checkpoint {
namespace {

template <typename Number>
Number checked(Number result) {
    return result < 0 ? -errno : result;
}

struct CloseDirectory {
    void operator()(DIR *directory) const { closedir(directory); }
};

class RealFiles final : public Files {
  public:
    int open_new(const std::string &path) override {
        return checked(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    }
    int open_read(const std::string &path) override {
        return checked(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    }
    int64_t write(int fd, std::span<const std::byte> bytes) override {
        return checked<int64_t>(::write(fd, bytes.data(), bytes.size()));
    }
    int64_t read_at(int fd, std::span<std::byte> bytes, uint64_t offset) override {
        return checked<int64_t>(
            ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)));
    }
    int64_t size(int fd) override {
        struct stat info;
        if (fstat(fd, &info) != 0) return -errno;
        return S_ISREG(info.st_mode) ? info.st_size : -EINVAL;
    }
    int start_writeback(int fd, uint64_t offset, uint64_t bytes) override {
        return checked(sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                                       SYNC_FILE_RANGE_WRITE));
    }
    int sync_data(int fd) override { return checked(fdatasync(fd)); }
    int close(int fd) override { return checked(::close(fd)); }
    int make_directory(const std::string &path) override {
        return checked(mkdir(path.c_str(), 0777));
    }
    int sync_directory(const std::string &path) override {
        int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) return -errno;
        int result = checked(fsync(fd));
        ::close(fd);
        return result;
    }
    int rename(const std::string &from, const std::string &to) override {
        return checked(::rename(from.c_str(), to.c_str()));
    }
    int remove(const std::string &path) override { return checked(unlink(path.c_str())); }
    int remove_directory(const std::string &path) override { return checked(rmdir(path.c_str())); }
    int list(const std::string &path, std::vector<std::string> &names) override {
        const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
        if (!directory) return -errno;
        names.clear();
        errno = 0;
        while (const dirent *entry = readdir(directory.get())) {
            std::string name = entry->d_name;
            if (name != "." && name != "..") names.push_back(name);
        }
        return -errno;
    }
    int64_t free_bytes(const std::string &path) override {
        struct statvfs info;
        if (statvfs(path.c_str(), &info) != 0) return -errno;
        return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
    }
};

}  // namespace

Files &real_files() {
    static RealFiles files;
    return files;
}

int write_all(Files &files, int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        int64_t done = files.write(fd, bytes);
        if (done == -EINTR) continue;
        if (done < 0) return static_cast<int>(done);
        if (done == 0) return -EIO;
        bytes = bytes.subspan(static_cast<size_t>(done));
    }
    return 0;
}

int read_all(Files &files, int fd, std::span<std::byte> bytes, uint64_t offset) {
    while (!bytes.empty()) {
        int64_t done = files.read_at(fd, bytes, offset);
        if (done == -EINTR) continue;
        if (done < 0) return static_cast<int>(done);
        if (done == 0) return -ENODATA;
        bytes = bytes.subspan(static_cast<size_t>(done));
        offset += static_cast<uint64_t>(done);
    }
    return 0;
}

int make_empty_file(Files &files, const std::string &path) {
    const int fd = files.open_new(path);
    return fd < 0 ? fd : files.close(fd);
}

int write_new_file(Files &files, const std::string &path, const std::string &text) {
    int fd = files.open_new(path);
    if (fd < 0) return fd;
    int written = write_all(files, fd, std::as_bytes(std::span(text)));
    int synced = written < 0 ? written : files.sync_data(fd);
    int closed = files.close(fd);  // also after an error; its result counts
    return synced < 0 ? synced : closed;
}

int read_file(Files &files, const std::string &path, size_t bytes_max, std::string &text) {
    int fd = files.open_read(path);
    if (fd < 0) return fd;
    int64_t size = files.size(fd);
    int result = size < 0 ? static_cast<int>(size) : 0;
    if (size > static_cast<int64_t>(bytes_max)) result = -EFBIG;
    if (result == 0) {
        text.resize(static_cast<size_t>(size));
        result = read_all(files, fd, std::as_writable_bytes(std::span(text)), 0);
    }
    files.close(fd);
    return result;
}

int make_directories(Files &files, const std::string &path) {
    const size_t slash = path.find_last_of('/');
    const std::string parent = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    int result = files.make_directory(path);
    if (result == -EEXIST) return 0;
    if (result == -ENOENT && parent.size() > 1) {
        if (result = make_directories(files, parent); result < 0) return result;
        result = files.make_directory(path);
    }
    if (result == -EEXIST) return 0;  // another rank created it first
    return result < 0 ? result : files.sync_directory(parent);
}

int remove_flat_directory(Files &files, const std::string &path) {
    std::vector<std::string> names;
    int result = files.list(path, names);
    if (result == -ENOENT) return 0;
    if (result < 0) return result;
    for (const std::string &name : names) files.remove(path + "/" + name);
    return files.remove_directory(path);
}

Status write_failure(int negative_errno, const std::string &path) {
    int error = -negative_errno;
    if (error == ENOSPC)
        return {RINGRT_CHECKPOINT_FAILED, "checkpoint failed: no space left: free some in " + path};
    if (error == EDQUOT)
        return {RINGRT_CHECKPOINT_FAILED,
                "checkpoint failed: disk quota used up: free some in " + path};
    return {RINGRT_CHECKPOINT_FAILED,
            format_text("checkpoint failed: %s: %s", path.c_str(), strerror(error))};
}

}  // namespace ringrt::checkpoint
