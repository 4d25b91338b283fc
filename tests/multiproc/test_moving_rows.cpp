// SPDX-License-Identifier: BSD-3-Clause
// Rows larger than a chunk move between real ranks, from and to host memory and the memory of a
// mock GPU, which the host cannot touch. The memory for the way is bounded, and a GPU that fails
// changes nothing.
#include <string>

#include "libringrt/gpu/gpu_memory.h"
#include "libringrt/live/moving_rows.h"
#include "tests/multiproc/training.h"
#include "tests/support/hidden_gpu.h"

using namespace ringrt;
using namespace ringrt::test;
using namespace ringrt::live;

namespace {

constexpr uint64_t kRows = 7, kRowBytes = (9 << 20) + 3;

struct Member {
    bool on_gpu;
    int fails_at = -1;
};

// One rank's rows, whose bytes identify their place.
class Held {
  public:
    Held(const Communicator &comm, const Member &member, int size)
        : gpu_(std::make_unique<HiddenGpu>(device), {.rank = [&comm] { return comm.rank(); },
                                                     .stream = []() -> void * { return nullptr; },
                                                     .watch = [] { return Status{}; },
                                                     .timeout_ms = 20000}),
          member_(member),
          rows({.find_device = [this](auto &buffer) { return find_device(buffer); },
                .add = [](auto) { return Status{}; },
                .replace = [](const auto &) {}}) {
        const checkpoint::Parameter matrix{
            .name = "m", .dtype = RINGRT_UINT8, .shape = {kRows, kRowBytes}};
        if (!gpu_.open(0, "x").ok() ||
            !rows.add(matrix, {place, release, this}, comm.rank(), size).ok())
            abort();
        each([](std::byte &byte, uint64_t at) { byte = value(at); });
        device.fails_at = member.fails_at;
    }
    HiddenDevice device;

  private:
    GpuMemory gpu_;
    const Member member_;
    std::map<void *, std::unique_ptr<std::byte[]>> host_;

  public:
    MovingRows rows;

    [[nodiscard]] bool is(int rank, int size) {
        const checkpoint::Buffer &buffer = *rows.find("m");
        ringrt_rows_t right = {};
        if (size > 0) right = span(rank, size);
        bool same = buffer.block.offset[0] == right.first && buffer.block.extent[0] == right.count;
        each([&](const std::byte &byte, uint64_t at) { same = same && byte == value(at); });
        return same;
    }
    [[nodiscard]] size_t count() const { return host_.size() + device.allocations(); }

  private:
    // The last rank has the first rows, and rank 0 the rest: all of them move.
    static ringrt_rows_t span(int rank, int size) {
        const auto place = uint64_t(size - 1 - rank), ranks = uint64_t(size);
        const uint64_t first = kRows * place / ranks;
        return {first, kRows * (place + 1) / ranks - first, nullptr};
    }
    static std::byte value(uint64_t at) {
        return std::byte((at + (at >> 12) + (at / kChunkBytes) * 5) & 0xff);
    }
    static int place(void *context, int rank, int size, ringrt_rows_t *out) {
        auto &self = *static_cast<Held *>(context);
        *out = span(rank, size);
        const size_t bytes = out->count * kRowBytes + 1;
        if (self.member_.on_gpu) {
            out->data = self.device.make<std::byte>(bytes);
        } else {
            auto memory = std::make_unique<std::byte[]>(bytes);
            out->data = memory.get();
            self.host_[out->data] = std::move(memory);
        }
        return 0;
    }
    static void release(void *context, void *data) {
        auto &self = *static_cast<Held *>(context);
        if (self.device.holds(data))
            self.device.unmake(data);
        else if (self.host_.erase(data) != 1)
            abort();
    }
    Status find_device(checkpoint::Buffer &buffer) {
        if (device.holds(buffer.data)) buffer.device = &gpu_;
        return {};
    }
    template <typename Visit>
    void each(Visit visit) {
        const checkpoint::Buffer &buffer = *rows.find("m");
        std::byte *seen = buffer.device ? device.behind(buffer.data) : buffer.data;
        for (uint64_t i = 0; i < buffer.bytes; ++i)
            visit(seen[i], buffer.block.offset[0] * kRowBytes + i);
    }
};

// From two ranks to three, and to the first one. A GPU that fails does so in the first move, which
// is done again.
int move(Communicator &comm, const Member &mine, bool fails) {
    const int rank = comm.rank();
    Held held(comm, mine, rank < 2 ? 2 : 0);
    for (int round = fails ? 0 : 1; round < 2; ++round) {
        const Status moved = held.rows.move(comm, 3, true);
        if (moved.ok() != (round == 1)) return explain(kWrongStatus, comm, "move");
        if (round == 0 && mine.fails_at >= 0 && moved.code != RINGRT_SYSTEM_ERROR)
            return kWrongLine;
        if (round == 0) held.rows.discard();
        if (round == 0 && !held.is(rank, rank < 2 ? 2 : 0)) return kWrongSum;
        held.device.eager = true;
    }
    held.rows.adopt(3);
    if (!held.is(rank, 3) || held.rows.placed_for() != 3) return kWrongSum;
    if (!held.rows.move(comm, 1, false).ok()) return explain(kWrongStatus, comm, "second move");
    rank == 0 ? held.rows.adopt(1) : held.rows.drop();
    if (!held.is(rank, rank == 0 ? 1 : 0)) return kWrongSum;
    if (held.count() != (rank == 0 ? 1 : 0)) return 6;  // old rows are released
    if (held.device.pinned != 0 || held.device.pinned_most > 2 * kChunkBytes) return 7;
    return comm.finish() == RINGRT_OK ? int(kAsExpected) : 8;
}

void run(const std::vector<Member> &members, const Layout &layout = {3, 1}) {
    TemporaryDirectory directory;
    const bool fails =
        std::ranges::any_of(members, [](const Member &each) { return each.fails_at >= 0; });
    Ranks ranks(layout.ranks, [&](int rank) {
        CommunicatorConfig config = config_of(directory, layout, rank);
        config.find_gpu = [] { return std::unique_ptr<Gpu>(); };
        Communicator comm(std::move(config));
        if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "start");
        return move(comm, members[size_t(rank)], fails);
    });
    expect_all(ranks, layout, -1, 60);
}

}  // namespace

TEST(in_host_memory) { run({{false}, {false}, {false}}); }
TEST(between_nodes) { run({{false}, {false}, {false}}, {3, 3}); }
TEST(on_gpus) { run({{true}, {true}, {true}}); }
TEST(from_hosts_to_a_gpu_and_back) { run({{false}, {false}, {true}}); }
TEST(from_gpus_to_a_host_and_back) { run({{true}, {true}, {false}}); }
TEST(a_gpu_fails_to_send) { run({{true, 1}, {false}, {true}}); }
TEST(a_gpu_fails_to_receive) { run({{true}, {false}, {true, 1}}); }

int main() { return run_all("moving_rows"); }
