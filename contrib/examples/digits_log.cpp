// SPDX-License-Identifier: BSD-3-Clause
#include "digits_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace digits {
namespace {

constexpr const char *kHeader = "step,epoch,loss,gpus,restart,time_s\n";

[[noreturn]] void fail(const std::string &what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

double unix_time_s() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void write_all(int file, const char *text, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t n = write(file, text, bytes);
        if (n < 0 && errno != EINTR) fail("cannot write the step log");
        if (n > 0) text += n, bytes -= static_cast<std::size_t>(n);
    }
}

// An earlier incarnation may have been killed in the middle of a line.
void start_on_fresh_line(int file, off_t bytes) {
    char last = '\n';
    if (bytes > 0 && pread(file, &last, 1, bytes - 1) == 1 && last != '\n')
        write_all(file, "\n", 1);
}

}  // namespace

StepLog::StepLog(const std::string &path) {
    if (path.empty()) return;
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) fail("cannot open " + path);
    struct stat info {};
    if (fstat(file_, &info) != 0) fail("cannot read " + path);
    if (info.st_size == 0) write_all(file_, kHeader, std::strlen(kHeader));
    start_on_fresh_line(file_, info.st_size);
}

StepLog::~StepLog() {
    if (file_ >= 0) close(file_);
}

void StepLog::append(const StepRow &row) {
    if (file_ < 0) return;
    char line[160];
    const int bytes = std::snprintf(line, sizeof line, "%llu,%.4f,%.9g,%d,%d,%.3f\n",
                                    static_cast<unsigned long long>(row.step), row.epoch, row.loss,
                                    row.gpus, row.restart, unix_time_s());
    write_all(file_, line, static_cast<std::size_t>(bytes));
}

void write_json(const std::string &path, const Summary &s) {
    if (path.empty()) return;
    const std::string fresh = path + ".new";
    std::FILE *file = std::fopen(fresh.c_str(), "w");
    if (file == nullptr) fail("cannot write " + fresh);
    std::fprintf(
        file,
        "{\"program\": \"digits\", \"steps\": %llu, \"samples\": %llu, \"samples_lost\": %llu, "
        "\"samples_duplicated\": %llu, \"loss\": %.9g, \"accuracy\": %.6f, \"gpus\": %d, "
        "\"restarts\": %d, \"seconds\": %.3f, \"device_ms_per_sample\": %g}\n",
        static_cast<unsigned long long>(s.steps), static_cast<unsigned long long>(s.samples),
        static_cast<unsigned long long>(s.samples_lost),
        static_cast<unsigned long long>(s.samples_duplicated), s.loss, s.accuracy, s.gpus,
        s.restarts, s.seconds, s.device_ms_per_sample);
    const bool written = std::ferror(file) == 0;
    if (std::fclose(file) != 0 || !written || std::rename(fresh.c_str(), path.c_str()) != 0)
        fail("cannot write " + path);
}

}  // namespace digits
