// SPDX-License-Identifier: BSD-3-Clause
// Ranks as forked processes on this machine.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/directory.h"

namespace ringrt::test {

// Processes that each run `body(rank)`. Its result is the exit status (250: it threw).
class Ranks {
  public:
    Ranks(int size, const std::function<int(int)> &body) {
        fflush(nullptr);
        for (int rank = 0; rank < size; ++rank) {
            pid_t pid = fork();
            if (pid == 0) _exit(run(rank, body));
            pids_.push_back(pid);
        }
        statuses_.assign(pids_.size(), -1);
    }
    ~Ranks() {
        for (pid_t pid : pids_) {
            if (pid > 0) kill(pid, SIGKILL), waitpid(pid, nullptr, 0);
        }
    }

    pid_t pid(int rank) const { return pids_[size_t(rank)]; }
    void signal(int rank, int number) const {
        if (pids_[size_t(rank)] > 0)
            kill(pids_[size_t(rank)], number);  // -1 would signal every process
    }

    // Returns the exit statuses by rank: 1000 + signal if a signal ended it, -1 if it did not end
    // in time (it is then killed). Does not wait for rank `except`.
    std::vector<int> wait(double timeout_s = 30, int except = -1) {
        auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
        for (size_t left = 1; left > 0 && std::chrono::steady_clock::now() < end;) {
            left = 0;
            for (size_t r = 0; r < pids_.size(); ++r) left += !collect(r) && int(r) != except;
            if (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return statuses_;
    }

  private:
    static int run(int rank, const std::function<int(int)> &body) {
        try {
            return body(rank);
        } catch (const std::exception &e) {
            fprintf(stderr, "rank %d threw: %s\n", rank, e.what());
            return 250;
        }
    }
    bool collect(size_t r) {
        if (pids_[r] < 0) return true;
        int status = 0;
        if (waitpid(pids_[r], &status, WNOHANG) != pids_[r]) return false;
        statuses_[r] = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        pids_[r] = -1;
        return true;
    }
    std::vector<pid_t> pids_;
    std::vector<int> statuses_;
};

}  // namespace ringrt::test
