// SPDX-License-Identifier: BSD-3-Clause
// F11 on real files: a saving process is killed just before each of its system calls in turn, so
// that every prefix of them occurs once. The result is always the old or the new checkpoint.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/checkpoint_model.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

namespace fs = std::filesystem;

fs::path make_directory() {
    const fs::path memory = "/dev/shm";  // fsync on a disk would take most of the time
    std::string name = (fs::exists(memory) ? memory : fs::temp_directory_path()) / "ringrt-XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    return name;
}

[[noreturn]] void save_and_exit(const fs::path &directory) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    _exit(save_alone(real_files(), 1200, 1, directory).ok() ? 0 : 1);
}

// Stops at the entry of a system call, ignoring futexes: the hashing thread makes their number
// vary.
bool at_door(pid_t pid) {
    __ptrace_syscall_info info{};
    ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
    return info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr != SYS_futex;
}

// Lets `pid` make `calls` system calls and kills it at the entry of the next. Returns its exit
// status if it ended before, −1 if it was killed.
int kill_after(pid_t pid, int calls) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (int made = 0;;) {
        ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
        waitpid(pid, &status, 0);
        if (WIFEXITED(status)) return WEXITSTATUS(status);
        if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
        if (!at_door(pid) || made++ < calls) continue;
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return -1;
    }
}

int killed_save(const fs::path &directory, int calls) {
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) save_and_exit(directory);
    return kill_after(pid, calls);
}

}  // namespace

TEST(a_kill_at_any_system_call_leaves_the_old_or_the_new) {
    const fs::path base = make_directory();
    for (uint64_t step : {1000, 1100})
        expect_ok(save_alone(real_files(), step, 0, base / "before"));
    int old_ones = 0, new_ones = 0, ended = -1;
    for (int calls = 0; ended < 0; ++calls) {
        const fs::path directory = base / "now";
        fs::remove_all(directory);
        fs::copy(base / "before", directory, fs::copy_options::recursive);
        ended = killed_save(directory, calls);
        const uint64_t step = loaded_step(real_files(), 2, directory);
        ck_assert_msg(step == 1100 || step == 1200, "after %d calls: step %d", calls, int(step));
        (step == 1200 ? new_ones : old_ones)++;
        expect_ok(save_alone(real_files(), 1300, 3, directory));
        ck_assert_uint_eq(loaded_step(real_files(), 4, directory), 1300);
    }
    ck_assert_int_eq(ended, 0);
    ck_assert_int_gt(old_ones, 40);
    ck_assert_int_gt(new_ones, 5);
    fs::remove_all(base);
}

int main() {
    const fs::path directory = make_directory();
    const bool traced = killed_save(directory, 0) == -1;
    fs::remove_all(directory);
    if (!traced) {
        puts("this system does not let a process trace its child");
        return 77;
    }
    return ringrt::test::run_all("checkpoint_killed");
}
