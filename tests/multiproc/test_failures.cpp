// SPDX-License-Identifier: BSD-3-Clause
// Ranks that die, stop, abort, disagree or fork: no rank hangs, and every rank reports the failed
// one.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>

#include "tests/multiproc/training.h"
#include "tests/support/check.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr Layout kLayouts[] = {{2, 1}, {4, 1}, {2, 2}, {3, 3}, {4, 2}};

// Counts the ranks that have finished their start, on a machine of any load.
class Started {
  public:
    Started() {
        void *shared = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) abort();
        count_ = new (shared) std::atomic<int>(0);
    }
    ~Started() { munmap(count_, sizeof *count_); }
    void one_more() { ++*count_; }
    void await(int ranks) const {
        for (int i = 0; i < 20000 && *count_ < ranks; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

  private:
    std::atomic<int> *count_;
};

int expect_loss_of(Communicator &comm, int victim, size_t count, Started *started = nullptr) {
    if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
    if (started != nullptr) started->one_more();
    bool sums_right = true;
    ringrt_status_t status = train(comm, count, 1000000, &sums_right);
    if (!sums_right) return explain(kWrongSum, comm, "wrong sum");
    if (status != RINGRT_PEER_LOST)
        return explain(kWrongStatus, comm, std::to_string(status).c_str());
    std::string name = "rank " + std::to_string(victim) + " on ";
    if (comm.last_error().find(name) == std::string::npos)
        return explain(kWrongLine, comm, "not named");
    return kAsExpected;
}

// An algorithm over a layout, and the element count at which it runs.
struct Route {
    const char *algorithm;
    Layout layout;
    size_t count;
};
constexpr Route kRoutes[] = {
    {"one_shot", {4, 4}, 1000},
    {"direct", {4, 4}, 1000},
    {"direct", {3, 3}, 300000},
    {"halving_doubling", {4, 4}, 1000},
    {"halving_doubling", {3, 3}, 1000},
    {"chain", {4, 4}, 1000},
    {"ring", {3, 3}, 1000},
    {"tree", {3, 3}, 1000},
    {"", {4, 2}, 1000} /* rails */,
    {"", {3, 1}, 100} /* one-shot within a node */,
    {"", {3, 1}, 300000} /* staged */,
};

CommunicatorConfig config_of(const TemporaryDirectory &directory, const Route &route, int rank) {
    setenv("RINGRT_ALGORITHM", route.algorithm, 1);
    return config_of(directory, route.layout, rank);
}

// The hops of `rank` in one allreduce, counted in a separate run.
int hops_of(const Route &route, int rank) {
    void *shared = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    auto *hops = new (shared) std::atomic<int>(0);
    TemporaryDirectory directory;
    Ranks ranks(route.layout.ranks, [&](int self) {
        CommunicatorConfig config = config_of(directory, route, self);
        bool counting = false;
        config.fault_point = [&] { *hops += counting ? 1 : 0; };
        Communicator comm(std::move(config));
        if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
        counting = self == rank;
        bool sums_right = true;
        ringrt_status_t status = train(comm, route.count, 1, &sums_right);
        counting = false;
        if (status != RINGRT_OK || !sums_right) return explain(kWrongSum, comm, "wrong sum");
        return comm.finish() == RINGRT_OK ? int(kAsExpected)
                                          : explain(kWrongStatus, comm, "finish");
    });
    expect_all(ranks, route.layout, -1, 60);
    int counted = *hops;
    ck_assert_int_gt(counted, 0);
    munmap(shared, sizeof(std::atomic<int>));
    return counted;
}

// One job whose `victim` sends itself `signal_number` at its `fault_point`th fault_point after the
// start.
struct HopCase {
    TemporaryDirectory directory;
    std::unique_ptr<Ranks> ranks;

    HopCase(const Route &route, int victim, int fault_point, int signal_number) {
        ranks = std::make_unique<Ranks>(route.layout.ranks, [&](int rank) {
            CommunicatorConfig config = config_of(directory, route, rank);
            int left = -1;
            config.fault_point = [&] {
                if (left > 0 && --left == 0) raise(signal_number);
            };
            config.timeout_ms = signal_number == SIGSTOP ? 3000 : 20000;
            Communicator comm(std::move(config));
            if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
            // Once the victim has finished one allreduce, all ranks have finished their start.
            bool sums_right = true, warm = true;
            ringrt_status_t status = train(comm, route.count, 1, &warm);
            if (rank == victim) left = fault_point;
            if (status == RINGRT_OK) status = train(comm, route.count, 1000000, &sums_right);
            if (!warm || !sums_right) return explain(kWrongSum, comm, "wrong sum");
            bool told = status == RINGRT_PEER_LOST ||
                        (signal_number == SIGSTOP && status == RINGRT_TIMEOUT);
            if (!told) return explain(kWrongStatus, comm, std::to_string(status).c_str());
            std::string line = comm.last_error();
            for (std::string part :
                 {"rank " + std::to_string(victim) + " on ", "rank " + std::to_string(rank) + ": ",
                  std::string("during allreduce of ")})
                if (line.find(part) == line.npos) return explain(kWrongLine, comm, part.c_str());
            return int(kAsExpected);
        });
    }
};

// Every route and every fault_point of rank 1, a few jobs at once.
void at_every_hop(int signal_number) {
    constexpr int kVictim = 1;
    const size_t at_once = signal_number == SIGSTOP ? 12 : 4;  // stopped processes use no time
    for (const Route &route : kRoutes) {
        int hops = hops_of(route, kVictim);
        for (int first = 1; first <= hops; first += int(at_once)) {
            std::vector<std::unique_ptr<HopCase>> cases;
            for (int fault_point = first; fault_point <= hops && cases.size() < at_once;
                 ++fault_point) {
                cases.push_back(
                    std::make_unique<HopCase>(route, kVictim, fault_point, signal_number));
            }
            for (auto &each : cases) {
                expect_all(*each->ranks, route.layout, kVictim, 60);
            }
        }
    }
}

TEST(a_rank_may_die_at_any_hop) { at_every_hop(SIGKILL); }   // F02
TEST(a_rank_may_stop_at_any_hop) { at_every_hop(SIGSTOP); }  // F03

TEST(a_killed_rank_is_named_by_all_others) {  // F01, F02
    std::mt19937 random(1);
    for (Layout layout : kLayouts) {
        for (size_t count : {size_t(1), size_t(300000)}) {
            for (int victim : {0, layout.ranks - 1}) {
                TemporaryDirectory directory;
                Started started;
                Ranks ranks(layout.ranks, [&](int rank) {
                    Communicator comm(config_of(directory, layout, rank));
                    return expect_loss_of(comm, victim, count, &started);
                });
                started.await(layout.ranks);
                wait_ms(50 + int(random() % 60));  // in the middle of any fault_point
                ranks.signal(victim, SIGKILL);
                expect_all(ranks, layout, victim, 30);
            }
        }
    }
}

// A child such as a data loader's worker must not keep the dead rank's connections open.
TEST(a_killed_rank_is_missed_though_its_child_lives) {  // F01
    TemporaryDirectory directory;
    Layout layout{3, 3};
    Started started;
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    Ranks ranks(layout.ranks, [&](int rank) {
        close(pipes[1]);
        Communicator comm(config_of(directory, layout, rank));
        if (rank != 1) return expect_loss_of(comm, 1, 1000, &started);
        if (comm.start() != RINGRT_OK) return int(kNotStarted);
        char end;
        if (fork() == 0) _exit(read(pipes[0], &end, 1) == 0 ? 0 : 1);  // until the test is over
        started.one_more();
        started.await(layout.ranks);
        raise(SIGKILL);
        return int(kAsExpected);
    });
    close(pipes[0]);
    expect_all(ranks, layout, 1, 15);
    close(pipes[1]);
}

TEST(a_stopped_rank_causes_a_warning_and_then_a_timeout) {  // F03
    for (Layout layout : {Layout{3, 1}, Layout{3, 3}}) {
        TemporaryDirectory directory;
        Started started;
        Ranks ranks(layout.ranks, [&](int rank) {
            CommunicatorConfig config = config_of(directory, layout, rank);
            config.timeout_ms = 5000;
            std::string warnings;
            config.warn = [&](const std::string &line) { warnings += line; };
            Communicator comm(std::move(config));
            if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
            started.one_more();
            bool sums_right = true;
            ringrt_status_t status = train(comm, 1000, 1000000, &sums_right);
            bool gone = status == RINGRT_TIMEOUT || status == RINGRT_PEER_LOST;
            if (!gone) return explain(kWrongStatus, comm, std::to_string(status).c_str());
            bool named = comm.last_error().find("rank 1 on ") != std::string::npos;
            if (!named || warnings.find("rank 1 on ") == std::string::npos) {
                return explain(kWrongLine, comm, warnings.c_str());
            }
            return int(kAsExpected);
        });
        started.await(layout.ranks);
        wait_ms(100);
        ranks.signal(1, SIGSTOP);
        expect_all(ranks, layout, 1, 40);
    }
}

TEST(a_pause_is_survived) {  // F03
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}}) {
        TemporaryDirectory directory;
        Started started;
        Ranks ranks(layout.ranks, [&](int rank) {
            Communicator comm(config_of(directory, layout, rank));
            if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
            started.one_more();
            for (int i = 0; i < 20; ++i) {
                bool sums_right = true;
                if (train(comm, 1000, 10, &sums_right) != RINGRT_OK || !sums_right) {
                    return explain(kWrongSum, comm, "not survived");
                }
                wait_ms(50);
            }
            return comm.finish() == RINGRT_OK ? int(kAsExpected)
                                              : explain(kWrongStatus, comm, "finish");
        });
        started.await(layout.ranks);
        wait_ms(100);
        ranks.signal(1, SIGSTOP);
        wait_ms(1000);
        ranks.signal(1, SIGCONT);
        expect_all(ranks, layout, -1, 40);
    }
}

TEST(a_slow_rank_is_warned_of_and_waited_for) {  // F04
    for (Layout layout : {Layout{3, 1}, Layout{3, 3}, Layout{4, 2}}) {
        TemporaryDirectory directory;
        Ranks ranks(layout.ranks, [&](int rank) {
            std::string warnings;
            CommunicatorConfig config = config_of(directory, layout, rank);
            config.warn = [&](const std::string &line) { warnings += line; };
            Communicator comm(std::move(config));
            if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
            for (int i = 0; i < 2; ++i) {
                if (rank == 1) wait_ms(i * 4500);
                bool sums_right = true;
                if (train(comm, 1000, 3, &sums_right) != RINGRT_OK || !sums_right)
                    return explain(kWrongSum, comm, "not waited for");
            }
            // Other ranks may wait for rank 1 indirectly. A rank that waits for it directly names
            // it.
            bool named = rank != 0 || warnings.find("rank 1 on ") != std::string::npos;
            if (!named) return explain(kWrongLine, comm, warnings.c_str());
            return comm.finish() == RINGRT_OK ? int(kAsExpected)
                                              : explain(kWrongStatus, comm, "finish");
        });
        expect_all(ranks, layout, -1, 40);
    }
}

// As a firewall does: the peer of every connection gets a reset.
void reset_connections() {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 3; fd < 256; ++fd) {
        sockaddr_storage peer{};
        socklen_t bytes = sizeof peer;
        if (getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &bytes) != 0) continue;
        linger now{.l_onoff = 1, .l_linger = 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        dup2(nothing, fd);
    }
    close(nothing);
}

TEST(reset_connections_are_an_error_at_all_ranks) {  // F04
    for (const Route &route : kRoutes) {
        if (route.layout.nodes == 1) continue;
        TemporaryDirectory directory;
        Ranks ranks(route.layout.ranks, [&](int rank) {
            CommunicatorConfig config = config_of(directory, route, rank);
            int left = -1;
            config.fault_point = [&] {
                if (left > 0 && --left == 0) reset_connections();
            };
            Communicator comm(std::move(config));
            if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
            bool sums_right = true, warm = true;
            ringrt_status_t status = train(comm, route.count, 1, &warm);
            if (rank == 1) left = 20;
            if (status == RINGRT_OK) status = train(comm, route.count, 1000000, &sums_right);
            if (!warm || !sums_right) return explain(kWrongSum, comm, "wrong sum");
            bool told = status == RINGRT_PEER_LOST || status == RINGRT_SYSTEM_ERROR;
            return told ? int(kAsExpected)
                        : explain(kWrongStatus, comm, std::to_string(status).c_str());
        });
        expect_all(ranks, route.layout, -1, 40);
    }
}

TEST(an_abort_ends_all_ranks) {
    for (Layout layout : kLayouts) {
        TemporaryDirectory directory;
        Ranks ranks(layout.ranks, [&](int rank) {
            Communicator comm(config_of(directory, layout, rank));
            if (rank != 0) return expect_loss_of(comm, 0, 1000);
            if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
            std::thread other([&] { wait_ms(200), comm.abort(); });
            bool sums_right = true;
            ringrt_status_t status = train(comm, 1000, 1000000, &sums_right);
            other.join();
            if (status != RINGRT_ABORTED)
                return explain(kWrongStatus, comm, std::to_string(status).c_str());
            return comm.barrier() == RINGRT_ABORTED ? int(kAsExpected) : int(kWrongStatus);
        });
        expect_all(ranks, layout, -1, 30);
    }
}

TEST(an_abort_ends_the_start) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {  // the third rank never connects
        Communicator comm(config_of(directory, {3, 1}, rank));
        std::thread other([&] { wait_ms(200), comm.abort(); });
        ringrt_status_t status = comm.start();
        other.join();
        // The second rank may see that the first is gone.
        bool ended = status == RINGRT_ABORTED || status == RINGRT_PEER_LOST;
        return ended ? int(kAsExpected) : explain(kWrongStatus, comm, "start");
    });
    expect_all(ranks, {2, 1}, -1, 15);
}

TEST(a_missing_rank_is_named) {
    TemporaryDirectory directory;
    Ranks ranks(3, [&](int rank) {
        CommunicatorConfig config = config_of(directory, {4, 1}, rank);
        config.start_timeout_ms = 1500;
        Communicator comm(std::move(config));
        if (comm.start() != RINGRT_TIMEOUT && rank == 0)
            return explain(kWrongStatus, comm, "start");
        bool named =
            rank != 0 || comm.last_error().find("rank 3 of 4 did not connect") != std::string::npos;
        return named ? int(kAsExpected) : explain(kWrongLine, comm, "not named");
    });
    expect_all(ranks, {3, 1}, -1, 15);
}

TEST(different_calls_are_an_error) {
    for (Layout layout : kLayouts) {
        TemporaryDirectory directory;
        Ranks ranks(layout.ranks, [&](int rank) {
            Communicator comm(config_of(directory, layout, rank));
            std::vector<float> data(100);
            size_t count = rank == 1 ? 99 : 100;
            // The first two may see each other's calls while the others still start.
            ringrt_status_t status = comm.start();
            if (status == RINGRT_OK)
                status =
                    comm.allreduce(data.data(), data.data(), count, RINGRT_FLOAT32, RINGRT_SUM);
            // Another rank may report it before this rank sees it.
            bool told = status == RINGRT_MISMATCH || status == RINGRT_PEER_LOST;
            bool named = comm.last_error().find("of 99 float32") != std::string::npos;
            return told && named ? int(kAsExpected)
                                 : explain(kWrongLine, comm, std::to_string(status).c_str());
        });
        expect_all(ranks, layout, -1, 30);
    }
}

TEST(a_forked_child_is_refused) {
    Communicator comm({});
    ck_assert_int_eq(comm.start(), RINGRT_OK);
    pid_t pid = fork();
    if (pid == 0) _exit(comm.barrier() == RINGRT_FORKED ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(comm.barrier(), RINGRT_OK);
}

TEST(nothing_is_left_in_shared_memory) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        Communicator comm(config_of(directory, {2, 1}, rank));
        if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
        std::ofstream(directory.path + "/up" + std::to_string(rank)) << "up";
        wait_ms(60000);
        return 0;
    });
    for (const char *up : {"/up0", "/up1"})
        for (int i = 0; i < 500 && !std::filesystem::exists(directory.path + up); ++i) wait_ms(10);
    ck_assert(!std::filesystem::exists(directory.path + "/meet"));  // nor the rendezvous file
    for (int rank : {0, 1}) {                                       // mapped, but without a name
        std::ifstream maps("/proc/" + std::to_string(ranks.pid(rank)) + "/maps");
        bool mapped = false;
        for (std::string line; std::getline(maps, line);) {
            if (line.find("/dev/shm/ringrt-") == std::string::npos) continue;
            mapped = true;
            ck_assert_msg(line.ends_with("(deleted)"), "still there: %s", line.c_str());
        }
        ck_assert(mapped);
    }
}

}  // namespace

int main() { return run_all("failures", 180); }
