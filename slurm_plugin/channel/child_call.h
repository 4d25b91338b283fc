// SPDX-License-Identifier: BSD-3-Clause
// One call to Slurm, in a child process with a deadline: its hang or crash does not affect the
// caller.
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

    // The child sends the result of `work`, and is killed after `timeout_s`. False: no child.
    bool start(const std::function<std::string()> &work, double timeout_s);
    [[nodiscard]] bool running() const { return child_ > 0; }
    [[nodiscard]] int fd() const { return from_; }  // to poll; −1: not running
    // The child's text after it has ended; empty if it was killed or crashed. nullopt: not yet.
    std::optional<std::string> poll();
    std::string wait();  // blocks until then

  private:
    void end();

    pid_t child_ = -1;
    int from_ = -1;
    double deadline_s_ = 0;
    std::string text_;
};

}  // namespace ringrt::channel
