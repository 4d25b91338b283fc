// SPDX-License-Identifier: BSD-3-Clause
// Worlds of hundreds of ranks, as threads of eight processes, over mock nodes: results, how many
// connections a rank has, and how a loss reaches ranks that have none to the lost one.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <new>
#include <thread>

#include "tests/multiproc/layout.h"
#include "tests/support/check.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr int kProcesses = 8;

struct World {
    int ranks, per_node;

    // A node's ranks are in one process: the locks of its memory belong to a process.
    [[nodiscard]] int process_of(int rank) const {
        const int nodes = (ranks + per_node - 1) / per_node;
        return rank / per_node * kProcesses / nodes;
    }
    // Both neighbours at each power of two, of ranks or of nodes.
    [[nodiscard]] size_t few_peers() const {
        const bool rails = per_node > 1 && ranks % per_node == 0;
        return 2 * size_t(std::bit_width(unsigned((rails ? ranks / per_node : ranks) - 1)));
    }
};

// Shared by the processes.
struct Board {
    std::atomic<int> started{0};
    std::atomic<size_t> connections{0};
};

class SharedBoard {
  public:
    SharedBoard() {
        void *shared =
            mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ck_assert(shared != MAP_FAILED);
        board_ = new (shared) Board;
    }
    ~SharedBoard() { munmap(board_, sizeof(Board)); }
    SharedBoard(const SharedBoard &) = delete;
    SharedBoard &operator=(const SharedBoard &) = delete;
    Board *operator->() const { return board_; }

  private:
    Board *board_;
};

CommunicatorConfig config_of_thread(const TemporaryDirectory &directory, World world, int rank) {
    CommunicatorConfig config = config_of(directory, {world.ranks, 1}, rank);
    config.node = std::to_string(rank / world.per_node);
    config.timeout_ms = config.start_timeout_ms = 60000;
    config.warn = [](const std::string &) {};
    return config;
}

#define REQUIRE(condition)                                                                      \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            fprintf(stderr, "rank %d of %d, %d per node: line %d: %s; %s\n", rank, world.ranks, \
                    world.per_node, __LINE__, #condition, comm.last_error().c_str());           \
            return false;                                                                       \
        }                                                                                       \
    } while (0)

float input(int rank, size_t i) { return float(rank % 7 + int(i % 5)); }

// Small whole numbers: exact in every order.
float sum_of_inputs(int ranks, size_t i) {
    float sum = 0;
    for (int r = 0; r < ranks; ++r) sum += input(r, i);
    return sum;
}

bool sums_are_right(Communicator &comm, World world, int rank) {
    const size_t count = size_t(world.ranks) * 3 + 5;  // shares of two sizes
    std::vector<float> data(count), sums(count), share_data(4);
    for (size_t i = 0; i < count; ++i) data[i] = input(rank, i);
    const auto *send = data.data();
    REQUIRE(comm.allreduce(send, sums.data(), count, RINGRT_FLOAT32, RINGRT_SUM) == RINGRT_OK);
    for (size_t i = 0; i < count; ++i) REQUIRE(sums[i] == sum_of_inputs(world.ranks, i));
    REQUIRE(comm.reduce_scatter(send, share_data.data(), count, RINGRT_FLOAT32, RINGRT_SUM) ==
            RINGRT_OK);
    const Share own = share(count, world.ranks, rank);
    for (size_t i = 0; i < own.count; ++i)
        REQUIRE(share_data[i] == sum_of_inputs(world.ranks, own.first + i));
    REQUIRE(comm.allreduce(send, sums.data(), 0, RINGRT_FLOAT32, RINGRT_SUM) == RINGRT_OK);
    return true;
}

bool bytes_are_right(Communicator &comm, World world, int rank) {
    std::vector<uint64_t> votes(size_t(world.ranks));
    const uint64_t mine = uint64_t(rank) << 40 | 7;
    REQUIRE(comm.all_gather(&mine, votes.data(), sizeof mine) == RINGRT_OK);
    for (int r = 0; r < world.ranks; ++r) REQUIRE(votes[size_t(r)] == (uint64_t(r) << 40 | 7));
    for (const int root : {0, world.ranks - 1, world.ranks / 2 + 1}) {
        std::vector<uint32_t> data(1237, rank == root ? uint32_t(root + 9) : 0);
        REQUIRE(comm.broadcast(data.data(), data.size() * 4, root) == RINGRT_OK);
        for (uint32_t each : data) REQUIRE(each == uint32_t(root + 9));
    }
    REQUIRE(comm.barrier() == RINGRT_OK);
    std::array<uint8_t, 8> seen{};
    for (size_t i = 0; i < seen.size(); ++i)
        seen[i] = rank == world.ranks * int(i) / 8 ? uint8_t(100 + i) : uint8_t(i);
    REQUIRE(comm.largest(seen.data(), seen.data(), seen.size()) == RINGRT_OK);
    for (size_t i = 0; i < seen.size(); ++i) REQUIRE(seen[i] == 100 + i);
    return true;
}

bool run_rank(const TemporaryDirectory &directory, World world, int rank,
              const SharedBoard &board) {
    Communicator comm(config_of_thread(directory, world, rank));
    REQUIRE(comm.start() == RINGRT_OK);
    REQUIRE(bytes_are_right(comm, world, rank));
    // No rank may be ahead: its next operation may connect to this one.
    for (++board->started; board->started < world.ranks;)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const size_t few = comm.connections();
    for (++board->started; board->started < 2 * world.ranks;)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(few <= world.few_peers());
    for (int i = 0; i < 2; ++i) REQUIRE(sums_are_right(comm, world, rank));
    board->connections += comm.connections();
    REQUIRE(comm.finish() == RINGRT_OK);
    return true;
}

// Runs body(rank) in a thread for each rank of process `number`.
template <class Body>
int run_process(World world, int number, Body body) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int rank = 0; rank < world.ranks; ++rank) {
        if (world.process_of(rank) != number) continue;
        threads.emplace_back([&, rank] { wrong += body(rank) ? 0 : 1; });
    }
    for (std::thread &each : threads) each.join();
    return wrong == 0 ? 0 : 1;
}

void check_world(World world) {
    TemporaryDirectory directory;
    SharedBoard board;
    Ranks processes(kProcesses, [&](int number) {
        return run_process(world, number,
                           [&](int rank) { return run_rank(directory, world, rank, board); });
    });
    for (int status : processes.wait(100 * kTimeoutScale)) ck_assert_int_eq(status, 0);
    // The groups of halving-doubling add one or two to a rank's peers on average, and more to the
    // ranks of a small group.
    ck_assert_uint_le(board->connections, size_t(world.ranks) * (world.few_peers() + 2));
}

TEST(ranks_alone_on_their_nodes) {
    for (const World world : {World{64, 1}, World{253, 1}}) check_world(world);
}
TEST(many_nodes_of_equal_size) {
    for (const World world : {World{256, 4}, World{117, 3}, World{128, 64}}) check_world(world);
}
// A chunk of the node's memory holds too little of each of so many ranks' blocks to send it alone.
TEST(few_nodes_of_many_ranks) { check_world({320, 40}); }
TEST(nodes_of_unequal_size) { check_world({130, 4}); }

// The ranks of one process end; the others wait in barriers.
void check_loss(World world, int signal, uint32_t timeout_ms, ringrt_status_t expected) {
    constexpr int kLost = 3;
    TemporaryDirectory directory;
    SharedBoard board;
    auto body = [&](int rank) {
        Communicator comm(config_of_thread(directory, world, rank));
        REQUIRE(comm.start() == RINGRT_OK);
        REQUIRE(comm.barrier() == RINGRT_OK);
        comm.set_timeout_ms(timeout_ms);
        ++board->started;
        ringrt_status_t status = RINGRT_OK;
        while (status == RINGRT_OK) status = comm.barrier();
        REQUIRE(status == RINGRT_PEER_LOST || status == expected);
        if (signal == SIGSTOP) return true;  // the line may name a rank that waited for it
        int named = -1;
        REQUIRE(sscanf(comm.last_error().c_str(), "rank %*d: rank %d", &named) == 1);
        REQUIRE(world.process_of(named) == kLost);
        return true;
    };
    Ranks processes(kProcesses, [&](int number) { return run_process(world, number, body); });
    while (board->started < world.ranks) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    processes.signal(kLost, signal);
    const std::vector<int> statuses = processes.wait(60 * kTimeoutScale, kLost);
    for (int i = 0; i < kProcesses; ++i)
        if (i != kLost) ck_assert_int_eq(statuses[size_t(i)], 0);
}

TEST(a_loss_is_found_by_ranks_without_a_connection_to_it) {
    for (const World world : {World{128, 1}, World{128, 2}})
        check_loss(world, SIGKILL, 60000, RINGRT_PEER_LOST);
}
TEST(a_stopped_rank_ends_ranks_without_a_connection_to_it) {
    for (const World world : {World{64, 1}, World{128, 4}})
        check_loss(world, SIGSTOP, 6000, RINGRT_TIMEOUT);
}

}  // namespace

int main() { return run_all("large_world", 200); }
