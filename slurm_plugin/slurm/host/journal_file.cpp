// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/journal_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace ringrt::slurm {
namespace {

// Opens a regular file, or returns -1. Opened for each use: otherwise NFS does not show what the
// other host wrote. O_NONBLOCK guards against anything else at this path.
int open_plain(const std::string &path, int flags, std::size_t *bytes) {
    const int file =
        open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
    struct stat status {};
    if (file < 0) return -1;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        *bytes = static_cast<std::size_t>(status.st_size);
        return file;
    }
    close(file);
    errno = EINVAL;
    return -1;
}

std::string contents(const std::string &path) {
    std::size_t bytes = 0;
    const int file = open_plain(path, O_RDONLY, &bytes);
    if (file < 0) return {};
    std::string out(std::min(bytes, 2 * kJournalBytes), '\0');
    const ssize_t got = pread(file, out.data(), out.size(), 0);
    close(file);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
}

}  // namespace

bool JournalFile::append(const std::string &line) const {
    std::size_t bytes = 0;
    int file = open_plain(path_, O_WRONLY | O_APPEND | O_CREAT, &bytes);
    if (file >= 0 && bytes > kJournalBytes) {
        close(file);
        if (std::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return false;
        file = open_plain(path_, O_WRONLY | O_APPEND | O_CREAT, &bytes);
    }
    if (file < 0) return false;
    const bool written =
        ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
        fdatasync(file) == 0;
    const int error = errno;
    const bool closed = close(file) == 0;
    if (!written) errno = error;
    return written && closed;
}

void JournalFile::write(const controller::Event &event) {
    const std::string line = controller::journal_line(event);
    if (line.empty()) return;
    // The leading newline separates it from a line that a killed writer left unfinished.
    const bool good = append("\n" + line + "\n");
    if (!good && !failing_)
        log_.error("cannot write " + path_ + ": " + std::strerror(errno) +
                   "; a job that ends just before slurmctld is killed may run again");
    failing_ = !good;
}

controller::Journal JournalFile::read() const {
    return controller::read_journal(contents(path_ + ".1") + contents(path_));
}

}  // namespace ringrt::slurm
