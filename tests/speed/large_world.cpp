// SPDX-License-Identifier: BSD-3-Clause
// Measures a world of many ranks on this machine. It is not a test. Ranks are threads of a few
// processes, distributed over mock nodes. It prints one row: how long the start takes, what a rank
// holds (sockets, threads, memory), how long an all-gather of 40 bytes, the agreement at a step and
// a barrier take, and when the last rank has learned that the ranks of one process died. Times
// depend on the number of cores; so a second row has the CPU time of a rank, which does not much.
//
//   make tests/speed/large_world && tests/speed/large_world RANKS RANKS_PER_NODE [PER_PROCESS]
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "libringrt/base/clock.h"
#include "libringrt/collective/communicator.h"
#include "tests/support/ranks.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr int kWait_s = 600;

enum Stage { kStart, kGathers, kSteps, kBarriers, kCounted, kLoss, kStages };

// Shared by all processes.
struct Board {
    std::atomic<int> arrived[kStages] = {};
    std::atomic<int> open[kStages] = {};
    std::atomic<int> failed{0}, lost{0}, misnamed{0};
    std::atomic<long> sockets{0}, threads{0}, pss_kb{0};
    std::atomic<double> began_s{0}, start_s{0}, gather_ms{0}, step_ms{0}, barrier_ms{0},
        killed_s{0}, heard_s{0};
    std::atomic<double> first_start_cpu_s{0}, start_cpu_s{0}, barrier_cpu_s{0};
    char line[4096] = {};  // it may have passed many ranks
};

void raise(std::atomic<double> *to, double value) {
    double seen = *to;
    while (seen < value && !to->compare_exchange_weak(seen, value)) {
    }
}

struct World {
    int ranks, per_node, per_process;
    std::string meet;
    Board *board;

    // Without polling: thousands of threads that wake every few milliseconds are the load that is
    // measured.
    void meet_all(Stage stage) const {
        std::atomic<int> &open = board->open[stage];
        if (++board->arrived[stage] == ranks) {
            open = 1;
            syscall(SYS_futex, &open, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
        }
        const timespec second{.tv_sec = 1, .tv_nsec = 0};
        while (open == 0 && board->failed == 0)
            syscall(SYS_futex, &open, FUTEX_WAIT, 0, &second, nullptr, 0);
    }
    // Of each measurement: fewer in large worlds, whose rounds take seconds on few cores.
    [[nodiscard]] int rounds() const { return std::max(2, std::min(20, 4096 / ranks)); }
    [[nodiscard]] int processes() const { return (ranks + per_process - 1) / per_process; }
};

double thread_cpu_s() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return double(used.tv_sec) + double(used.tv_nsec) / 1e9;
}

long number_in(const char *path, const std::string &key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key)) return atol(line.c_str() + key.size());
    return 0;
}

void count_process(Board *board) {
    long sockets = 0;
    std::error_code ignored;
    for (const auto &each : std::filesystem::directory_iterator("/proc/self/fd"))
        sockets += std::filesystem::read_symlink(each, ignored).string().starts_with("socket:");
    board->sockets += sockets;
    board->threads += number_in("/proc/self/status", "Threads:");
    board->pss_kb += number_in("/proc/self/smaps_rollup", "Pss:");
}

bool sound(const World &world, Communicator &comm, ringrt_status_t status) {
    if (status == RINGRT_OK) return true;
    if (world.board->failed++ == 0)
        snprintf(world.board->line, sizeof world.board->line, "%s", comm.last_error().c_str());
    return false;
}

// The ranks of process 1 die; the others are in a barrier.
void lose(const World &world, Communicator &comm, int rank) {
    Board &board = *world.board;
    if (rank / world.per_process == 1) {
        while (board.arrived[kLoss] < world.ranks)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        board.killed_s = monotonic_s();
        kill(getpid(), SIGKILL);
    }
    while (comm.barrier() == RINGRT_OK) {
    }
    raise(&board.heard_s, monotonic_s());
    ++board.lost;
    const int first = world.per_process, last = std::min(world.ranks, 2 * first) - 1;
    int named = -1;
    const std::string line = comm.last_error();
    const bool parsed = sscanf(line.c_str(), "rank %*d: rank %d", &named) == 1;
    if (!parsed || named < first || named > last) {
        if (board.misnamed++ == 0) snprintf(board.line, sizeof board.line, "%s", line.c_str());
    }
}

void run_rank(const World &world, int rank) {
    Board &board = *world.board;
    CommunicatorConfig config;
    config.rank = rank, config.size = world.ranks;
    config.node = std::to_string(rank / world.per_node);
    config.rendezvous = world.meet;
    config.timeout_ms = config.start_timeout_ms = kWait_s * 1000;
    config.warn = [](const std::string &) {};
    Communicator comm(std::move(config));
    world.meet_all(kStart);
    double zero = 0;
    board.began_s.compare_exchange_strong(zero, monotonic_s());
    const double start_cpu_s = thread_cpu_s();
    if (!sound(world, comm, comm.start())) return;
    board.start_cpu_s += thread_cpu_s() - start_cpu_s;
    if (rank == 0) board.first_start_cpu_s = thread_cpu_s() - start_cpu_s;
    raise(&board.start_s, monotonic_s() - board.began_s);
    world.meet_all(kGathers);
    using Gathered = std::array<uint64_t, 5>;
    const Gathered mine{uint64_t(rank)};
    std::vector<Gathered> all(size_t(world.ranks));
    std::array<uint8_t, 8> vote{};
    const double gathers_s = monotonic_s();
    for (int i = 0; i < world.rounds(); ++i)
        if (!sound(world, comm, comm.all_gather(&mine, all.data(), sizeof mine))) return;
    raise(&board.gather_ms, (monotonic_s() - gathers_s) * 1e3 / world.rounds());
    for (int r = 0; r < world.ranks; ++r)
        if (all[size_t(r)][0] != uint64_t(r)) ++board.failed;
    world.meet_all(kSteps);
    const double steps_s = monotonic_s();
    for (int i = 0; i < world.rounds(); ++i) {
        vote = {uint8_t(rank == world.ranks / 2 ? 9 : 1)};
        if (!sound(world, comm, comm.largest(vote.data(), vote.data(), vote.size()))) return;
        if (vote[0] != 9) ++board.failed;
    }
    raise(&board.step_ms, (monotonic_s() - steps_s) * 1e3 / world.rounds());
    world.meet_all(kBarriers);
    const double barriers_s = monotonic_s(), barriers_cpu_s = thread_cpu_s();
    for (int i = 0; i < world.rounds(); ++i)
        if (!sound(world, comm, comm.barrier())) return;
    board.barrier_cpu_s += (thread_cpu_s() - barriers_cpu_s) / world.rounds();
    raise(&board.barrier_ms, (monotonic_s() - barriers_s) * 1e3 / world.rounds());
    if (rank % world.per_process == 0) count_process(&board);
    world.meet_all(kCounted);
    ++board.arrived[kLoss];
    if (world.processes() > 1) lose(world, comm, rank);
}

int run_process(const World &world, int number) {
    std::vector<std::thread> threads;
    const int first = number * world.per_process;
    for (int rank = first; rank < std::min(world.ranks, first + world.per_process); ++rank)
        threads.emplace_back([&world, rank] { run_rank(world, rank); });
    for (std::thread &each : threads) each.join();
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s RANKS RANKS_PER_NODE [RANKS_PER_PROCESS]\n", argv[0]);
        return 2;
    }
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    TemporaryDirectory directory;
    void *shared =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    World world{.ranks = atoi(argv[1]),
                .per_node = atoi(argv[2]),
                .per_process = argc > 3 ? atoi(argv[3]) : 64,
                .meet = directory.path + "/meet",
                .board = new (shared) Board};
    Board &board = *world.board;
    Ranks processes(world.processes(), [&](int number) { return run_process(world, number); });
    (void)processes.wait(kWait_s, 1);
    printf("| %d | %d | %.2f s | %.1f | %.2f | %.0f KB | %.1f ms | %.1f ms | %.1f ms | ",
           world.ranks, world.per_node, board.start_s.load(), double(board.sockets) / world.ranks,
           double(board.threads) / world.ranks, double(board.pss_kb) / world.ranks,
           board.gather_ms.load(), board.step_ms.load(), board.barrier_ms.load());
    if (world.processes() > 1)
        printf("%.0f ms, %d of %d, %d misnamed |\n", (board.heard_s - board.killed_s) * 1e3,
               board.lost.load(), world.ranks - std::min(world.per_process, world.ranks),
               board.misnamed.load());
    else
        printf("- |\n");
    printf("CPU: start of rank 0 %.1f ms, of a rank %.2f ms; barrier of a rank %.3f ms\n",
           board.first_start_cpu_s * 1e3, board.start_cpu_s * 1e3 / world.ranks,
           board.barrier_cpu_s * 1e3 / world.ranks);
    if (board.line[0] != 0) fprintf(stderr, "%s\n", board.line);
    return board.failed == 0 ? 0 : 1;
}
