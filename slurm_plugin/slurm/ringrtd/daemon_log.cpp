// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/ringrtd/daemon_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace ringrt::slurm {
namespace {

std::string timestamp() {
    const auto now = std::chrono::system_clock::now();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm parts{};
    localtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    std::array<char, 64> whole{};
    std::strftime(text.data(), text.size(), "%FT%T", &parts);
    std::snprintf(whole.data(), whole.size(), "[%s.%03d] ", text.data(),
                  static_cast<int>(ms.count() % 1000));
    return whole.data();
}

}  // namespace

DaemonLog::~DaemonLog() {
    if (file_ > 2) close(file_);
}

bool DaemonLog::open(const std::string &path, std::string *error) {
    if (path.empty()) return true;
    constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
    const int file = ::open(path.c_str(), kFlags, 0640);
    if (file < 0) {
        *error = "cannot open the log " + path + ": " + std::strerror(errno);
        return false;
    }
    const std::scoped_lock lock(mutex_);
    if (file_ > 2) close(file_);
    file_ = file;
    path_ = path;
    return true;
}

void DaemonLog::reopen() {
    std::string error;
    const std::string path = path_;
    if (!open(path, &error)) this->error(error);
}

// The journal expects a severity, and records the time itself.
void DaemonLog::write(bool is_error, const std::string &line) {
    const bool is_journal = file_ == 2 && std::getenv("JOURNAL_STREAM") != nullptr;
    std::string text = is_journal ? (is_error ? "<3>" : "<6>") : timestamp();
    if (is_error && !is_journal) text += "error: ";
    text += "ringrtd: " + line + "\n";
    const std::scoped_lock lock(mutex_);
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t now = ::write(file_, text.data() + done, text.size() - done);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) return;  // a full disk does not stop the daemon
        done += static_cast<std::size_t>(now);
    }
}

}  // namespace ringrt::slurm
