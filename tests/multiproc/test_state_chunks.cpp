// SPDX-License-Identifier: BSD-3-Clause
// The transfer of a step's state to ranks that join, from and to a mock GPU whose memory the host
// cannot touch: real ranks, and states larger than a chunk.
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "libringrt/gpu/gpu_memory.h"
#include "libringrt/live/resizer.h"
#include "libringrt/live/state_chunks.h"
#include "libringrt/live/state_transfer.h"
#include "tests/multiproc/training.h"
#include "tests/support/hidden_gpu.h"

using namespace ringrt;
using namespace ringrt::test;
using namespace ringrt::live;

namespace {

constexpr uint64_t kSizes[] = {1, 0, 4097, 2 * kChunkBytes + 12345, kChunkBytes, 77};

enum class Role { sends, receives, has_it };

struct Member {
    Role role;
    bool on_gpu;
    int fails_at = -1;
    bool fails_late = false;
};

// One rank's buffers, whose bytes identify their position.
class State {
  public:
    State(const Communicator &comm, const Member &member)
        : memory_(std::make_unique<HiddenGpu>(device),
                  {.rank = [&comm] { return comm.rank(); },
                   .stream = []() -> void * { return nullptr; },
                   .watch = [] { return Status{}; },
                   .timeout_ms = 20000}) {
        if (!memory_.open(0, "x").ok()) abort();
        buffers_.reserve(std::size(kSizes));
        for (uint64_t bytes : kSizes) {
            checkpoint::Buffer &buffer = buffers_.emplace_back();
            buffer.parameter.name = "w" + std::to_string(buffers_.size());
            buffer.bytes = bytes;
            if (member.on_gpu && bytes > 0) {
                buffer.device = &memory_;
                buffer.data = device.make<std::byte>(bytes);
            } else {
                buffer.data = host_.emplace_back(new std::byte[bytes + 1]).get();
            }
            places.push_back({buffer.data, bytes, buffer.device ? &buffer : nullptr});
        }
        device.fails_at = member.fails_at;
        device.fails_late = member.fails_late;
    }
    HiddenDevice device;
    std::vector<Place> places;

    void fill(unsigned seed) {
        each([&](std::byte &byte, size_t place, uint64_t i) { byte = value(seed, place, i); });
    }
    [[nodiscard]] bool is(unsigned seed) {
        bool same = true;
        each([&](const std::byte &byte, size_t place, uint64_t i) {
            same = same && byte == value(seed, place, i);
        });
        return same;
    }

  private:
    // No two chunks have the same bytes.
    static std::byte value(unsigned seed, size_t place, uint64_t i) {
        return std::byte((seed * 101 + place * 37 + i + (i >> 12) + (i / kChunkBytes) * 5) & 0xff);
    }
    template <typename Visit>
    void each(Visit visit) {
        for (const checkpoint::Buffer &buffer : buffers_) {
            std::byte *seen = buffer.device ? device.behind(buffer.data) : buffer.data;
            const auto place = size_t(&buffer - buffers_.data());
            for (uint64_t i = 0; i < buffer.bytes; ++i) visit(seen[i], place, i);
        }
    }
    GpuMemory memory_;
    std::vector<checkpoint::Buffer> buffers_;
    std::vector<std::unique_ptr<std::byte[]>> host_;
};

int root_of(const std::vector<Member> &members) {
    auto sends = [](const Member &member) { return member.role == Role::sends; };
    return int(std::find_if(members.begin(), members.end(), sends) - members.begin());
}

// Two transfers, so that a failed one leaves the ranks together. The GPU is late in one and eager
// in the other.
int move(Communicator &comm, const std::vector<Member> &members, ringrt_status_t expected) {
    const Member &mine = members[size_t(comm.rank())];
    const int root = root_of(members);
    State state(comm, mine);
    for (int round = 0; round < 2; ++round) {
        state.device.eager = round == 1;
        state.fill(mine.role == Role::receives ? 1 : 2);
        Status moved;
        if (mine.role == Role::sends) moved = send_state(comm, state.places);
        if (mine.role == Role::receives) moved = receive_state(comm, root, state.places);
        if (mine.role == Role::has_it) moved = pass_state_on(comm, root, state.places);
        if (moved.code != (round == 0 ? expected : RINGRT_OK)) {
            fprintf(stderr, "rank %d: %s\n", comm.rank(), moved.message.c_str());
            return kWrongStatus;
        }
        if (moved.ok() && !state.is(2)) return kWrongSum;
        const bool named = moved.message.find(": GPU 0: ") != std::string::npos &&
                           moved.message.find("during the copy of buffer w") != std::string::npos;
        if (mine.fails_at >= 0 && round == 0 && !named) return kWrongLine;
        if (state.device.pinned != 0) return 6;
        if (mine.role == Role::has_it && state.device.copies > 0) return 7;
    }
    return comm.finish() == RINGRT_OK ? int(kAsExpected) : 8;
}

// `expected`: per rank, in the first round.
void run(const std::vector<Member> &members, const std::vector<ringrt_status_t> &expected) {
    const Layout layout{int(members.size()), 1};
    TemporaryDirectory directory;
    Ranks ranks(layout.ranks, [&](int rank) {
        CommunicatorConfig config = config_of(directory, layout, rank);
        config.find_gpu = [] { return std::unique_ptr<Gpu>(); };
        Communicator comm(std::move(config));
        if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "start");
        return move(comm, members, expected[size_t(rank)]);
    });
    expect_all(ranks, layout, -1, 60);
}

void run_well(const std::vector<Member> &members) {
    run(members, std::vector<ringrt_status_t>(members.size(), RINGRT_OK));
}

// Rank 0 may die only after the others have started: otherwise their start would fail.
bool have_started(const TemporaryDirectory &directory, int rank, int ranks) {
    const auto mark = [&](int r) { return directory.path + "/started" + std::to_string(r); };
    Fd(open(mark(rank).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (int r = 0, tries = 0; rank == 0 && r < ranks; ++tries) {
        if (access(mark(r).c_str(), F_OK) == 0) {
            ++r;
        } else {
            if (tries == 20000 * kTimeoutScale) return false;
            usleep(1000);
        }
    }
    return true;
}

// Rank 0 is killed at each of its messages while it sends a newer step. A rank whose buffers then
// hold parts of two steps must have recorded that. Returns 9 if it holds parts of two.
int behind_a_sender_that_dies(const TemporaryDirectory &directory, test::Layout layout, int rank,
                              int dies_at) {
    CommunicatorConfig config = config_of(directory, layout, rank);
    config.warn = [](const std::string &) {};
    bool armed = false;
    config.fault_point = [&] {
        if (armed && rank == 0 && dies_at-- == 0) raise(SIGKILL);
    };
    Communicator comm(std::move(config));
    if (comm.start() != RINGRT_OK || !have_started(directory, rank, layout.ranks)) return 1;
    const std::byte mine{static_cast<unsigned char>(rank == 0 ? 2 : 1)};
    std::vector<std::vector<std::byte>> memory;
    std::vector<checkpoint::Buffer> buffers;
    for (size_t bytes : {size_t(1), size_t(5 << 20), size_t(100)}) {
        memory.emplace_back(bytes, mine);
        buffers.emplace_back().data = memory.back().data();
        buffers.back().bytes = bytes;
    }
    StateTransfer transfer(buffers);
    armed = true;
    uint32_t torn = 0;
    const Status moved = transfer.to_ranks_behind(comm, 0, rank == 0 ? nullptr : &torn);
    size_t newer = 0, all = 0;
    for (const auto &each : memory) {
        newer += size_t(std::count(each.begin(), each.end(), std::byte{2}));
        all += each.size();
    }
    if (moved.ok()) return newer == all ? 0 : 2;
    if (newer > 0 && torn == 0) return 3;
    return newer > 0 && newer < all ? 9 : 0;
}

// The order in which ranks settle: a rank that holds parts of two steps is treated as the furthest
// behind, however far it was.
TEST(a_torn_rank_is_behind) {
    const Position old{.step = 6}, newer{.step = 7}, torn{.step = 8, .torn = 1};
    ck_assert(is_behind(old, newer) && !is_behind(newer, old) && !is_behind(old, old));
    ck_assert(is_behind(torn, old) && !is_behind(newer, torn) && !is_behind(torn, torn));
}

TEST(a_rank_with_parts_of_two_steps_records_that) {
    int mixed = 0;
    for (const test::Layout layout : {test::Layout{3, 1}, test::Layout{3, 3}}) {
        for (int dies_at = 0; dies_at < 24; dies_at += 2) {
            TemporaryDirectory directory;
            Ranks ranks(3, [&](int rank) {
                return behind_a_sender_that_dies(directory, layout, rank, dies_at);
            });
            const std::vector<int> ended = ranks.wait();
            for (size_t r = 1; r < 3; ++r) {
                ck_assert_msg(ended[r] == 0 || ended[r] == 9, "dies at %d: rank %zu ended with %d",
                              dies_at, r, ended[r]);
                mixed += ended[r] == 9 ? 1 : 0;
            }
        }
    }
    ck_assert_int_gt(mixed, 0);  // otherwise nothing was tested
}

}  // namespace

TEST(from_gpu_to_gpu_and_to_the_host) {
    run_well({{Role::sends, true}, {Role::receives, true}, {Role::receives, false}});
}

TEST(from_the_host_to_a_gpu) {
    run_well({{Role::sends, false}, {Role::receives, true}, {Role::has_it, true}});
}

TEST(a_rank_that_has_the_state_keeps_it) {
    run_well({{Role::has_it, false}, {Role::sends, true}, {Role::has_it, true}});
}

// Its copies are one chunk each, and seven of these make a state.
TEST(a_senders_gpu_failure_is_reported) {
    for (int at : {0, 3, 6})
        run({{Role::sends, true, at, at == 6}, {Role::receives, true}, {Role::has_it, false}},
            {RINGRT_SYSTEM_ERROR, RINGRT_SYSTEM_ERROR, RINGRT_OK});
}

TEST(a_receivers_gpu_failure_blocks_no_other_rank) {
    for (bool late : {false, true})
        run({{Role::sends, true},
             {Role::receives, true, late ? 6 : 1, late},
             {Role::receives, false}},
            {RINGRT_OK, RINGRT_SYSTEM_ERROR, RINGRT_OK});
}

TEST(chunks_are_cut_at_places) {
    const std::vector<Place> places = {{nullptr, 5}, {nullptr, 0}, {nullptr, 21}, {nullptr, 10}};
    const std::vector<Chunk> expected = {
        {0, 0, 5}, {2, 0, 10}, {2, 10, 10}, {2, 20, 1}, {3, 0, 10}};
    ck_assert(chunks_of(places, 10) == expected);
}

int main() { return run_all("state_chunks"); }
