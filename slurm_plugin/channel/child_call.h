// SPDX-License-Identifier: BSD-3-Clause
// One call to Slurm, made by a child process that has a deadline: whatever hangs or crashes there
// is not the caller's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace ringrt::channel {

class ChildCall {
  public:
    ChildCall() = default;
    ~ChildCall() { end(); }
    ChildCall(const ChildCall &) = delete;
    ChildCall &operator=(const ChildCall &) = delete;

    // The child sends what `work` returns; it is killed `timeout_s` later. False: no child.
    bool start(const std::function<std::string()> &work, double timeout_s);
    [[nodiscard]] bool running() const { return child_ > 0; }
    [[nodiscard]] int fd() const { return from_; }  // to wait for; −1: not running
    // What the child sent, once it has ended; empty where it was killed or crashed.
    std::optional<std::string> poll();
    std::string wait();  // the same, when it has

  private:
    void end();

    pid_t child_ = -1;
    int from_ = -1;
    double deadline_s_ = 0;
    std::string text_;
};

}  // namespace ringrt::channel
