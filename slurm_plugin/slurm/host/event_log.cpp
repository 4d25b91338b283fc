// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/event_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "slurm_plugin/slurm/host/safe_file.h"

namespace ringrt::slurm {

EventLog::~EventLog() {
    if (file_ >= 0) close(file_);
}

void EventLog::open(const std::string &path) {
    if (file_ >= 0) close(file_);  // logrotate may have put another file there
    path_ = path;
    std::string error;
    file_ = open_to_append(path, error);
    if (file_ < 0)
        log_.error("cannot open the event log " + path + ": " + error +
                   "; events go to this log only");
}

void EventLog::write(const controller::Event &event) {
    if (event.job_id != 0)
        log_.info("JobId=" + std::to_string(event.job_id) + " " + event.text);
    else
        log_.info(event.text);
    if (file_ >= 0) append(controller::to_json(event) + "\n");
}

void EventLog::append(const std::string &line) {
    struct stat status {};
    if (fstat(file_, &status) == 0 && status.st_size > kEventLogBytesMax) rotate();
    if (file_ < 0 || ::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size()))
        return;
    log_.error("cannot write the event log " + path_ + ": " + std::strerror(errno) +
               "; events go to this log only");
    close(file_);
    file_ = -1;  // until the next reload
}

void EventLog::rotate() {
    const std::string path = path_;
    std::rename(path.c_str(), (path + ".1").c_str());
    close(file_);
    file_ = -1;
    open(path);
}

}  // namespace ringrt::slurm
