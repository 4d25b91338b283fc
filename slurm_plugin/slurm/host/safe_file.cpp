// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/safe_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "slurm_plugin/slurm/base/directory_of.h"

namespace ringrt::slurm {
namespace {

// O_NONBLOCK: opening a FIFO would wait for its other end. No effect on regular files.
constexpr int kNeverBlocks = O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

std::string error_text(const char *what) { return std::string(what) + ": " + std::strerror(errno); }

const char *kind_of(mode_t mode) {
    if (S_ISFIFO(mode)) return "a FIFO";
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    if (S_ISSOCK(mode)) return "a socket";
    return "something else";
}

// Empty: it is a regular file.
std::string not_regular(int file) {
    struct stat status {};
    if (fstat(file, &status) != 0) return error_text("cannot examine it");
    if (S_ISREG(status.st_mode)) return "";
    return std::string("expected a file, got ") + kind_of(status.st_mode);
}

bool write_all(int file, const std::string &content) {
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t wrote = write(file, content.data() + done, content.size() - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        done += static_cast<std::size_t>(wrote);
    }
    return true;
}

// Otherwise a power failure may lose the new name, and with it the file.
void sync_directory(const std::string &path) {
    const int directory = open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return;
    (void)fsync(directory);
    close(directory);
}

}  // namespace

std::variant<std::string, FileError> read_file(const std::string &path, std::size_t bytes_max) {
    const int file = open(path.c_str(), O_RDONLY | kNeverBlocks);
    if (file < 0) return FileError{.missing = errno == ENOENT, .text = error_text("cannot open")};
    if (std::string wrong = not_regular(file); !wrong.empty()) {
        close(file);
        return FileError{.text = std::move(wrong)};
    }
    std::string text(bytes_max + 1, '\0');
    std::size_t length = 0;
    ssize_t got = 0;
    while (length < text.size()) {
        got = read(file, text.data() + length, text.size() - length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        length += static_cast<std::size_t>(got);
    }
    const std::string error = got < 0 ? error_text("cannot read") : "";
    close(file);
    if (!error.empty()) return FileError{.text = error};
    text.resize(length);
    return text;
}

std::optional<std::string> replace_file(const std::string &path, const std::string &content) {
    const std::string fresh = path + ".new";
    (void)unlink(fresh.c_str());  // left by a crash, or put there by someone
    const int file =
        open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | kNeverBlocks, 0644);
    if (file < 0) return error_text("cannot create it");
    // A full disk shows at the write, at fsync() or, with a quota or NFS, only at close().
    const bool written = write_all(file, content) && fsync(file) == 0;
    std::string error = written ? "" : error_text("cannot write it");
    if (close(file) != 0 && error.empty()) error = error_text("cannot write it");
    if (error.empty() && std::rename(fresh.c_str(), path.c_str()) != 0)
        error = error_text("cannot rename it");
    if (!error.empty()) {
        (void)unlink(fresh.c_str());
        return error;
    }
    sync_directory(path);
    return std::nullopt;
}

int open_to_append(const std::string &path, std::string &error) {
    const int file =
        open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | kNeverBlocks, 0644);
    if (file < 0) {
        // A FIFO without a reader.
        error = errno == ENXIO ? "expected a file, got a FIFO or a socket" : std::strerror(errno);
        return -1;
    }
    error = not_regular(file);
    if (error.empty()) return file;
    close(file);
    return -1;
}

}  // namespace ringrt::slurm
