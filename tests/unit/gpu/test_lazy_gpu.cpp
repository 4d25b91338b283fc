// SPDX-License-Identifier: BSD-3-Clause
// Sums of buffers in GPU memory in every possible order of events, ENTIRELY ON A MOCK
// (tests/support/lazy_gpu.h), because no GPU is available; tests/gpu uses real ones. Three calls on
// two streams at each of two ranks run repeatedly, each time with another choice of the next event,
// until every choice from every state was tried.
#include <cstdio>
#include <set>

#include "libringrt/gpu/device_collectives.h"
#include "tests/support/check.h"
#include "tests/support/lazy_gpu.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr int kRanks = 2, kCalls = 3;
constexpr size_t kCount = 3;

void *stream_key(int number) { return reinterpret_cast<void *>(uintptr_t(number + 1) * 16); }

float value_of(int rank, int call, size_t i) {
    return float((rank + 1) * 100 + (call + 1) * 10) + float(i);
}

// One rank: a program's kernels in its own streams, and the library on them.
class Rank {
  public:
    Rank(LazyWorld &world, int rank)
        : world_(world), rank_(rank), device_(world.devices[size_t(rank)]) {
        self_.rank = rank;
        self_.size = kRanks;
        self_.warn = [](const std::string &) {};
        topology_.node_of_rank.assign(kRanks, 0);
        topology_.nodes = 1;
        library_ = std::make_unique<DeviceCollectives>(
            self_, topology_, std::make_unique<LazyGpu>(world, rank),
            DeviceCollectives::Host{
                .meet = [this](const Work &work) { return meet(work); },
                .note = [](std::span<const Gpu::Call>) {},
                .all_gather = [this](const void *mine, void *all,
                                     size_t bytes) { return gather(mine, all, bytes); },
                .allreduce = [this](const Work &work) { return sum(work); },
                .allreduce_on_rail = [](const Work &) { return Status{}; },
                .watch = [this] { return world_.lost ? gone() : Status{}; }});
    }

    float *make() { return device_.make(kCount); }
    void launch(int stream, std::function<void()> kernel) {
        device_.streams[stream_key(stream)].tasks.push_back({.run = std::move(kernel)});
    }
    Status allreduce(const float *send, float *recv, int stream) {
        Status status = try_allreduce(send, recv, stream);
        if (!status.ok()) world_.lost = true;  // as the communicator notifies its peers
        return status;
    }
    // As GpuStep does for gradients.
    Gpu::Event mark(int stream) {
        Gpu::Event event;
        library_->set_stream(stream_key(stream));
        (void)library_->mark(&event);
        return event;
    }
    bool open(float *memory) {
        bool on_gpu = false, in_stream_order = false;
        const Work work = sum_of(memory, memory, kCount, RINGRT_FLOAT32, RINGRT_SUM, kRanks);
        return library_->memory_kind_of(memory, memory, &on_gpu).ok() &&
               library_->open(work, &in_stream_order).ok() && in_stream_order;
    }
    Gpu::Event enqueue(const std::vector<Gpu::Call> &calls, const std::vector<Gpu::Event> &after) {
        DeviceCollectives::Enqueued made;
        (void)library_->enqueue(calls, after, &made);
        return made.ended;
    }
    void make_stream_wait(const Gpu::Event &event) { (void)library_->make_stream_wait(event); }
    // As a program does at the end, with the watching thread.
    std::string synchronize() {
        if (all_over()) return "";
        bool idle = false;
        const Status seen = library_->watch(&idle);
        return seen.ok() ? "lost while it waited for its streams" : seen.message;
    }

  private:
    bool all_over() {
        return world_.wait(rank_, [this] {
            device_.settle();
            for (const auto &[key, stream] : device_.streams)
                if (!stream.tasks.empty()) return false;
            return true;
        });
    }
    Status try_allreduce(const float *send, float *recv, int stream) {
        const Work work = sum_of(send, recv, kCount, RINGRT_FLOAT32, RINGRT_SUM, kRanks);
        bool on_gpu = false;
        RINGRT_TRY(library_->memory_kind_of(send, recv, &on_gpu));
        if (!on_gpu) return {RINGRT_SYSTEM_ERROR, "taken for ordinary memory"};
        library_->set_stream(stream_key(stream));
        bool in_stream_order = false;
        RINGRT_TRY(library_->open(work, &in_stream_order));
        if (in_stream_order)
            return library_->in_stream_order(
                {Gpu::Call::Allreduce, work.input, work.output, work.count, work.dtype, work.op});
        Gpu::Event ready;
        RINGRT_TRY(library_->mark(&ready));
        return library_->allreduce(work, ready);
    }
    static Status gone() { return {RINGRT_PEER_LOST, "rank 1 is lost", 1}; }
    Status gather(const void *mine, void *all, size_t bytes) {
        return world_.gather(rank_, mine, bytes, all) ? Status{} : gone();
    }
    Status meet(const Work &work) {
        size_t all[kRanks] = {};
        return gather(&work.count, all, sizeof work.count);
    }
    Status sum(const Work &work) {
        std::vector<float> all(work.count * kRanks);
        RINGRT_TRY(gather(work.input, all.data(), work.count * sizeof(float)));
        for (size_t i = 0; i < work.count; ++i)
            static_cast<float *>(work.output)[i] = all[i] + all[work.count + i];
        return {};
    }

    LazyWorld &world_;
    const int rank_;
    LazyDevice &device_;
    RankContext self_;
    Topology topology_;
    std::unique_ptr<DeviceCollectives> library_;
};

// Each call: a kernel writes the input, the sum runs, a kernel reads the result. The calls of one
// stream use the same two buffers, so a call must not write before the previous call has read. Bit
// i of `streams` is the stream of call i. With `in_place` both buffers are one.
std::string three_calls(LazyWorld &world, int rank, int streams, bool in_place) {
    Rank me(world, rank);
    float *send[2], *recv[2], *read[kCalls];
    for (int s = 0; s < 2; ++s) send[s] = me.make(), recv[s] = in_place ? send[s] : me.make();
    for (float *&each : read) each = me.make();
    for (int call = 0; call < kCalls; ++call) {
        const int s = streams >> call & 1;
        me.launch(s, [=, to = send[s]] {
            for (size_t i = 0; i < kCount; ++i) to[i] = value_of(rank, call, i);
        });
        if (const Status status = me.allreduce(send[s], recv[s], s); !status.ok())
            return status.message;
        me.launch(s, [from = recv[s], to = read[call]] { std::copy_n(from, kCount, to); });
    }
    if (std::string lost = me.synchronize(); !lost.empty()) return lost;
    for (int call = 0; call < kCalls; ++call)
        for (size_t i = 0; i < kCount; ++i)
            if (read[call][i] != value_of(0, call, i) + value_of(1, call, i))
                return "wrong sum in call " + std::to_string(call);
    return "";
}

// Two gradients of 2 · 1 + 1 elements, as a plan of two blocks sends them: reduced when they are
// ready, gathered in the order of the next forward pass, which reads each after its sum and then
// rewrites it. Written out by hand as gpu_calls() and GpuStep do it.
std::string two_gradients(LazyWorld &world, int rank) {
    Rank me(world, rank);
    float *gradient[2] = {me.make(), me.make()}, *read[2] = {me.make(), me.make()};
    if (!me.open(gradient[0])) return "not in stream order";
    Gpu::Event ready[2], sum[2];
    const auto call = [&](Gpu::Call::Kind kind, float *send, float *recv) {
        return Gpu::Call{kind, send, recv, 1, RINGRT_FLOAT32, RINGRT_SUM};
    };
    for (int g : {1, 0}) {
        me.launch(0, [=, to = gradient[g]] {
            for (size_t i = 0; i < kCount; ++i) to[i] = value_of(rank, g, i);
        });
        ready[g] = me.mark(0);
    }
    for (int g : {1, 0})
        (void)me.enqueue({call(Gpu::Call::ReduceScatter, gradient[g], gradient[g] + rank),
                          call(Gpu::Call::Allreduce, gradient[g] + 2, gradient[g] + 2)},
                         {ready[g]});
    for (int g : {0, 1})
        sum[g] = me.enqueue({call(Gpu::Call::AllGather, gradient[g] + rank, gradient[g])}, {});
    for (int g : {0, 1}) {
        me.make_stream_wait(sum[g]);
        me.launch(0, [from = gradient[g], to = read[g]] {
            std::copy_n(from, kCount, to);
            std::fill_n(from, kCount, -1.0F);
        });
    }
    if (std::string lost = me.synchronize(); !lost.empty()) return lost;
    for (int g : {0, 1})
        for (size_t i = 0; i < kCount; ++i)
            if (read[g][i] != value_of(0, g, i) + value_of(1, g, i))
                return "wrong sum of gradient " + std::to_string(g);
    return "";
}

struct Found {
    size_t runs = 0, states = 0, wrong = 0, hung = 0;
    std::string first;
};

// Depth first: tries each choice from every state, or stops at the first error.
Found explore(const std::function<void(LazyWorld &)> &prepare, const LazyWorld::Body &body,
              bool until_wrong = false) {
    Found found;
    std::set<std::string> seen;
    std::vector<std::vector<size_t>> open = {{}};
    while (!open.empty() && !(until_wrong && found.wrong > 0)) {
        std::vector<size_t> picks = std::move(open.back());
        const size_t given = picks.size();
        open.pop_back();
        bool known = false;
        size_t at = 0;
        LazyWorld world(kRanks);
        if (prepare) prepare(world);
        const auto outcome = world.run(body, [&](size_t ways, const std::string &state) {
            if (at < given) return picks[at++];
            known = known || !seen.insert(state).second;
            if (!known)
                for (size_t other = 1; other < ways; ++other) {
                    open.push_back(picks);
                    open.back().push_back(other);
                }
            picks.push_back(0), ++at;
            return size_t{0};
        });
        ++found.runs;
        found.wrong += outcome.wrong.empty() ? 0 : 1;
        found.hung += outcome.hung ? 1 : 0;
        if (found.first.empty() && !outcome.wrong.empty()) found.first = outcome.wrong;
    }
    found.states = seen.size();
    return found;
}

// Tries all assignments of three calls to two streams; the first call uses the first stream.
Found explore_all(const LazyFaults &first, const LazyFaults &second, bool in_place,
                  bool until_wrong = false) {
    Found all;
    for (int streams = 0; streams < 1 << kCalls; streams += 2) {
        if (until_wrong && all.wrong > 0) break;
        const Found each = explore(
            [&](LazyWorld &world) {
                world.devices[0].faults = first, world.devices[1].faults = second;
            },
            [&](LazyWorld &world, int rank) { return three_calls(world, rank, streams, in_place); },
            until_wrong);
        all.runs += each.runs, all.states += each.states;
        all.wrong += each.wrong, all.hung += each.hung;
        if (all.first.empty()) all.first = each.first;
    }
    return all;
}

void expect_right(const char *route, const LazyFaults &first, const LazyFaults &second) {
    setenv("RINGRT_GPU", route, 1);
    for (bool in_place : {false, true}) {
        const Found found = explore_all(first, second, in_place);
        printf("mock, no GPU: %s%s: %zu states, %zu runs, %zu wrong, %zu hung\n", route,
               in_place ? " in place" : "", found.states, found.runs, found.wrong, found.hung);
        ck_assert_msg(found.wrong == 0, "%s", found.first.c_str());
        ck_assert_uint_eq(found.hung, 0);
        ck_assert_uint_gt(found.states, 100);
    }
}

TEST(every_order_is_right_on_a_mock_by_nccl) { expect_right("nccl", {.number = 0}, {.number = 1}); }
TEST(every_order_is_right_on_a_mock_by_ipc) { expect_right("ipc", {.number = 0}, {.number = 0}); }
TEST(every_order_is_right_on_a_mock_through_the_host) {
    expect_right("host", {.number = 0}, {.number = 1});
}

TEST(gradients_are_right_in_every_order_on_a_mock) {
    setenv("RINGRT_GPU", "nccl", 1);
    const auto found_with = [](const LazyFaults &second, bool until_wrong) {
        return explore([&](LazyWorld &world) { world.devices[1].faults = second; },
                       [](LazyWorld &world, int rank) { return two_gradients(world, rank); },
                       until_wrong);
    };
    const Found found = found_with({.number = 1}, false);
    printf("mock, no GPU: gradients: %zu states, %zu runs, %zu wrong, %zu hung\n", found.states,
           found.runs, found.wrong, found.hung);
    ck_assert_msg(found.wrong == 0, "%s", found.first.c_str());
    ck_assert_uint_eq(found.hung, 0);
    ck_assert_uint_gt(found.states, 100);
    ck_assert_uint_gt(found_with({.number = 1, .forgets_events = true}, true).wrong, 0);
    ck_assert_uint_gt(found_with({.number = 1, .streams_run_on = true}, true).wrong, 0);
}

// The mock detects a library that lets the program's later work into the stream before the sum, and
// one whose calls in two streams are not in one order.
TEST(a_mock_detects_sums_out_of_stream_order) {
    setenv("RINGRT_GPU", "nccl", 1);
    for (const LazyFaults &bug : {LazyFaults{.number = 1, .streams_run_on = true},
                                  LazyFaults{.number = 1, .enters_late = true}}) {
        const Found found = explore_all({.number = 0}, bug, false, true);
        ck_assert_msg(found.wrong > 0, "%zu runs, none wrong", found.runs);
        ck_assert_uint_eq(found.hung, 0);
    }
}

// The mock detects a library that does not wait for the program's stream. (NCCL's calls are in it.)
TEST(a_mock_detects_a_missing_wait_for_an_event) {
    for (const char *route : {"ipc", "host"}) {
        setenv("RINGRT_GPU", route, 1);
        const bool shared = std::string(route) == "ipc";
        const Found found = explore_all(
            {.number = 0}, {.number = shared ? 0 : 1, .forgets_events = true}, false, true);
        ck_assert_msg(found.wrong > 0, "%s: %zu runs, none wrong", route, found.runs);
        ck_assert_uint_eq(found.hung, 0);
    }
}

// Rank 1 dies at each of its waits: the other rank's call fails, and no rank hangs.
TEST(a_rank_that_dies_on_a_mock_ends_the_other) {
    for (const char *route : {"nccl", "ipc", "host"}) {
        setenv("RINGRT_GPU", route, 1);
        const bool shared = std::string(route) == "ipc";
        for (int waits = 1; waits <= 12; waits += 2) {
            size_t picked = 0;
            LazyWorld world(kRanks);
            world.devices[1].faults.number = shared ? 0 : 1;
            world.dies_at(1, waits);
            bool died = true;
            const auto outcome = world.run(
                [&](LazyWorld &lazy, int rank) {
                    std::string wrong = three_calls(lazy, rank, 2, false);
                    if (rank == 1) died = false;
                    return wrong;
                },
                [&](size_t ways, const std::string &) { return picked++ % ways; });
            ck_assert_msg(!outcome.hung, "%s, death at wait %d: hung", route, waits);
            // It may have died after the last sum.
            const bool told = outcome.wrong.find("rank 0: rank 1 is lost") == 0;
            ck_assert_msg(told || !died || outcome.wrong.empty(), "%s, death at wait %d: \"%s\"",
                          route, waits, outcome.wrong.c_str());
            if (waits == 1) ck_assert_msg(told, "%s: \"%s\"", route, outcome.wrong.c_str());
        }
    }
}

TEST(an_open_that_fails_at_one_rank_of_a_mock_ends_both) {
    setenv("RINGRT_GPU", "nccl", 1);
    const LazyFaults right{.number = 0};
    for (LazyFaults wrong : {LazyFaults{.number = 1, .open_fails = true},
                             LazyFaults{.number = 1, .start_fails = true}}) {
        const Found found = explore(
            [&](LazyWorld &world) {
                world.devices[0].faults = right, world.devices[1].faults = wrong;
            },
            [](LazyWorld &world, int rank) {
                const std::string line = three_calls(world, rank, 0, false);
                const char *expected = rank == 1 ? "as the test wants" : "rank 1 is lost";
                return line.find(expected) == line.npos ? "\"" + line + "\"" : "";
            });
        ck_assert_msg(found.wrong == 0, "%s", found.first.c_str());
        ck_assert_uint_eq(found.hung, 0);
    }
}

// Then both use host memory.
TEST(memory_that_one_rank_of_a_mock_cannot_share) {
    setenv("RINGRT_GPU", "", 1);
    const LazyFaults right{.number = 0, .nccl = false};
    const LazyFaults wrong{.number = 0, .nccl = false, .share_fails = true};
    const Found found = explore_all(right, wrong, false);
    ck_assert_msg(found.wrong == 0, "%s", found.first.c_str());
    ck_assert_uint_eq(found.hung, 0);
}

}  // namespace

int main() { return run_all("lazy_gpu", 240); }
