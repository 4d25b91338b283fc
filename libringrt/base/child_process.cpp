// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libringrt/base/clock.h"

extern char **environ;

namespace ringrt {
namespace {

constexpr size_t kOutputBytesMax = 64 << 10;

// The child gets an empty signal mask and default handlers instead of the program's.
int spawn(pid_t *pid, const std::vector<std::string> &argv, int output_fd) {
    std::vector<char *> words;
    for (const std::string &word : argv) words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output_fd, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(pid, words[0], &files, &attributes, words.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

std::string text_of_errno(const std::string &what, int error) {
    return what + ": " + strerror(error);
}

void sleep_ms(long ms) {
    timespec time{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, nullptr);
}

}  // namespace

Command::~Command() { kill_and_reap(); }

void Command::start(const std::vector<std::string> &argv, double timeout_s) {
    kill_and_reap();
    output_.clear();
    deadline_s_ = monotonic_s() + timeout_s;
    running_ = true;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        output_ = text_of_errno("pipe", errno);
        return;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    int error = spawn(&pid_, argv, ends[1]);
    ::close(ends[1]);
    pipe_ = ends[0];
    if (error == 0) return;
    pid_ = -1;
    output_ = text_of_errno(argv[0], error);
}

void Command::read_output() {
    char block[4096];
    for (ssize_t got; pipe_ >= 0 && (got = read(pipe_, block, sizeof block)) > 0;)
        output_.append(block, std::min(static_cast<size_t>(got), kOutputBytesMax - output_.size()));
}

CommandResult Command::finish(int exit_code) {
    read_output();
    if (pipe_ >= 0) ::close(pipe_);
    pipe_ = -1;
    pid_ = -1;
    running_ = false;
    return {exit_code, std::move(output_)};
}

std::optional<CommandResult> Command::poll() {
    if (!running_) return CommandResult{};
    if (pid_ < 0) return finish(-1);
    read_output();
    int status = 0;
    pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) return finish(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    if (ended < 0 && errno == ECHILD) return finish(-1);  // the program reaps children itself
    if (monotonic_s() < deadline_s_) return std::nullopt;
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
    output_ += "no answer in time";
    return finish(-1);
}

void Command::kill_and_reap() {
    if (!running_) return;
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    finish(-1);
}

CommandResult run_command(const std::vector<std::string> &argv, double timeout_s) {
    Command command;
    command.start(argv, timeout_s);
    for (;;) {
        if (std::optional<CommandResult> result = command.poll()) return *std::move(result);
        sleep_ms(5);
    }
}

}  // namespace ringrt
