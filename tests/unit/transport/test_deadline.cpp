// SPDX-License-Identifier: BSD-3-Clause
// Slurm suspends all processes of a job for minutes or hours. When it resumes them, none of them
// may conclude that its peers did not answer meanwhile.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>

#include "libringrt/base/deadline.h"
#include "tests/support/check.h"

using namespace ringrt;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds kTimeout = 2500ms, kStop = 5s;

enum Result { kOk, kFailedByStop, kNotStopped };

// Waits for a peer that never answers, and is stopped meanwhile.
Result wait_for_peer(int ready) {
    RankContext self;
    self.warn = [](const std::string &) {};
    Deadline deadline(self, "a test", uint32_t(kTimeout.count()));
    bool was_stopped = false;
    auto last = Clock::now();
    if (write(ready, "x", 1) != 1) return kNotStopped;
    for (;;) {
        std::this_thread::sleep_for(20ms);
        const auto now = Clock::now();
        const bool is_back = now - last > kTimeout;
        last = now;
        if (!deadline.check(1).ok())
            return is_back ? kFailedByStop : was_stopped ? kOk : kNotStopped;
        was_stopped |= is_back;
    }
}

}  // namespace

TEST(time_in_which_the_process_was_stopped_does_not_count) {
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) _exit(wait_for_peer(ready[1]));
    char byte = 0;
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    kill(child, SIGSTOP);
    std::this_thread::sleep_for(kStop);
    kill(child, SIGCONT);
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), kOk);
}

TEST(ranks_of_a_large_world_wake_less_often) {
    for (const auto &[size, expected_ms] : {std::pair(2, kSliceMs), std::pair(800, kSliceMs),
                                            std::pair(1600, 100), std::pair(4096, kLongSliceMs)}) {
        RankContext self;
        self.size = size;
        self.warn = [](const std::string &) {};
        const Deadline deadline(self, "a test", 1000);
        ck_assert_int_eq(deadline.slice_ms(), expected_ms);
    }
}

int main() { return ringrt::test::run_all("deadline"); }
