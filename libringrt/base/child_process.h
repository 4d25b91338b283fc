// SPDX-License-Identifier: BSD-3-Clause
// One child process (scontrol) with bounded output and run time, started without a shell and
// without fork() (posix_spawn), so that a training process with an open device can use it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace ringrt {

struct CommandResult {
    int exit_code = -1;  // −1: it could not be started, was killed, or timed out
    std::string output;  // stdout and stderr, at most 64 KiB
};

class Command {
  public:
    Command() = default;
    ~Command();  // kills a running child
    Command(const Command &) = delete;
    Command &operator=(const Command &) = delete;

    // Starts argv[0], looked up in PATH; kills it after `timeout_s`.
    void start(const std::vector<std::string> &argv, double timeout_s);

    // The result, once the child has ended. Does not wait.
    std::optional<CommandResult> poll();

    bool running() const { return running_; }

  private:
    void read_output();
    CommandResult finish(int exit_code);
    void kill_and_reap();

    bool running_ = false;
    pid_t pid_ = -1;
    int pipe_ = -1;
    double deadline_s_ = 0;
    std::string output_;
};

// Starts the command and waits for it.
CommandResult run_command(const std::vector<std::string> &argv, double timeout_s);

}  // namespace ringrt
