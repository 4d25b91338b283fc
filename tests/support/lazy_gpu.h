// SPDX-License-Identifier: BSD-3-Clause
// A mock of GPUs for machines without one: ranks of one process whose devices' streams are lazy. A
// task in a stream runs only when LazyWorld's driver picks it among all events that may happen
// next: a kernel, a copy, an NCCL sum that all ranks have reached, an NCCL call that leaves "in
// progress", or a rank whose wait is over. Only one runs at a time, so the same picks give the same
// run.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libringrt/gpu/gpu.h"
#include "libringrt/reduce/reduce.h"
#include "tests/support/lazy_context.h"

namespace ringrt::test {

struct LazyEvent {
    bool done = false;
};

struct LazyTask {
    std::function<void()> run;
    std::shared_ptr<LazyEvent> waits = nullptr, records = nullptr;
    std::vector<Gpu::Call> group{};  // of NCCL
    void *stream = nullptr;          // of a group in progress
};

struct LazyStream {
    std::deque<LazyTask> tasks;
    size_t ran = 0;

    // Events cost nothing: they complete as soon as they reach the front.
    void settle() {
        while (!tasks.empty() && !tasks.front().run && tasks.front().group.empty()) {
            if (tasks.front().waits && !tasks.front().waits->done) return;
            if (tasks.front().records) tasks.front().records->done = true;
            tasks.pop_front(), ++ran;
        }
    }
    [[nodiscard]] bool can_run() const { return !tasks.empty() && tasks.front().run; }
    void run_one() {
        const LazyTask task = std::move(tasks.front());
        tasks.pop_front(), ++ran;
        task.run();
    }
};

// The faults that one device can have.
struct LazyFaults {
    int number = 0;  // devices with the same number are one GPU
    bool nccl = true, reduces = true;
    // Bugs: what follows an event does not wait for it, in the library's stream or in the
    // program's; a call counts as in the stream while it is in progress.
    bool forgets_events = false, streams_run_on = false, enters_late = false;
    bool open_fails = false, start_fails = false, share_fails = false;
};

struct LazyDevice {
    enum Ring { None, Starting, Up };
    LazyFaults faults;
    std::map<void *, LazyStream> streams;  // key null: the library's own stream
    std::deque<LazyTask> in_progress;      // NCCL calls that are in no stream yet
    Ring ring = None;
    std::vector<std::vector<float>> memory, pinned;  // pinned: host memory

    float *make(size_t count) { return memory.emplace_back(count, -77.0F).data(); }
    [[nodiscard]] size_t index_of(const void *start) const {
        size_t index = 0;
        while (memory[index].data() != start) ++index;
        return index;
    }
    LazyStream &own() { return streams[nullptr]; }
    LazyStream *next_group() {  // whose next task is a group of NCCL calls
        for (auto &[key, each] : streams)
            if (!each.tasks.empty() && !each.tasks.front().group.empty()) return &each;
        return nullptr;
    }
    void settle() {
        for (size_t before = SIZE_MAX; before != ran();) {
            before = ran();
            for (auto &[key, stream] : streams) stream.settle();
        }
    }
    [[nodiscard]] size_t ran() const {
        size_t sum = 0;
        for (const auto &[key, stream] : streams) sum += stream.ran;
        return sum;
    }
    [[nodiscard]] bool idle() {
        return ring != Starting && in_progress.empty() && own().tasks.empty();
    }
    [[nodiscard]] bool holds(const void *pointer) const {
        for (const auto &each : memory) {
            const auto *start = reinterpret_cast<const std::byte *>(each.data());
            const auto *at = static_cast<const std::byte *>(pointer);
            if (at >= start && at < start + each.size() * sizeof(float)) return true;
        }
        return false;
    }
};

class LazyWorld {
  public:
    struct Stuck {};  // thrown into ranks whose wait never ends
    struct Dies {};
    using Body = std::function<std::string(LazyWorld &, int rank)>;

    explicit LazyWorld(int ranks) : devices(size_t(ranks)), hosts_(size_t(ranks)) {}
    std::vector<LazyDevice> devices;
    bool lost = false;  // a rank died or failed: the others see it when time passes

    // ---- called by ranks
    // Waits until `over`. Returns false if time passed after a rank was lost.
    bool wait(int rank, std::function<bool()> over) {
        HostState &host = hosts_[size_t(rank)];
        host.over = std::move(over);
        ++host.waits;
        if (host.waits == host.dies_at) throw Dies{};
        host.context.switch_to(driver_);
        if (stuck_) throw Stuck{};
        return host.over();
    }
    // Gathers from all ranks, over host memory. Returns false if a rank is lost.
    bool gather(int rank, const void *mine, size_t bytes, void *all) {
        HostState &host = hosts_[size_t(rank)];
        const size_t number = host.gathers++;
        if (number == rounds_.size()) rounds_.emplace_back(devices.size());
        const auto *from = static_cast<const std::byte *>(mine);
        rounds_[number][size_t(rank)].emplace(from, from + bytes);
        auto here = [this, number] {
            for (const auto &each : rounds_[number])
                if (!each) return false;
            return true;
        };
        if (!wait(rank, here)) return false;
        for (size_t r = 0; r < devices.size(); ++r)
            memcpy(static_cast<std::byte *>(all) + r * bytes, rounds_[number][r]->data(), bytes);
        return true;
    }
    void dies_at(int rank, int wait) { hosts_[size_t(rank)].dies_at = wait; }

    // ---- called by the driver

    struct Outcome {
        std::string wrong;         // what a rank returned
        bool hung = false;         // no event was possible, and not all ranks had ended
        std::vector<size_t> ways;  // the number of choices at each pick
        std::vector<std::string> states;
    };
    // Runs `body`. `pick(ways, state)` chooses among the events that may happen next.
    Outcome run(const Body &body, const std::function<size_t(size_t, const std::string &)> &pick) {
        Outcome out;
        for (size_t r = 0; r < hosts_.size(); ++r) {
            HostState &host = hosts_[r];
            host.over = [] { return true; };
            host.live = [this, r, &body, &out] { live(int(r), body, out); };
            host.context.stack = host.stack.get();
            host.context.stack_bytes = kStackBytes;
            ucontext_t &context = host.context.context;
            getcontext(&context);
            context.uc_stack.ss_sp = host.stack.get();
            context.uc_stack.ss_size = kStackBytes;
            makecontext(&context, &LazyWorld::enter, 0);
        }
        while (!all_ended()) {
            std::vector<std::function<void()>> next = possible();
            if (!next.empty()) {
                next[pick(next.size(), state())]();
            } else if (!pass_time()) {
                out.hung = stuck_ = true;
                for (size_t r = 0; r < hosts_.size(); ++r)
                    if (!hosts_[r].ended) give_turn(r);
            }
        }
        return out;
    }

  private:
    static constexpr size_t kStackBytes = 120 << 10;
    struct HostState {
        LazyContext context;
        std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};
        std::function<void()> live;
        std::function<bool()> over;
        int waits = 0, dies_at = -1;
        size_t gathers = 0;
        bool ended = false;
    };

    void live(int rank, const Body &body, Outcome &out) {
        std::string wrong;
        try {
            wrong = body(*this, rank);
        } catch (const Dies &) {
            lost = true;
        } catch (const Stuck &) {
        }
        if (!wrong.empty()) out.wrong += "rank " + std::to_string(rank) + ": " + wrong + "; ";
    }
    static void enter() {
        LazyContext::begun(entering_world_->driver_);
        LazyWorld &world = *entering_world_;
        HostState &host = world.hosts_[entering_rank_];
        host.live();
        host.ended = true;
        host.context.switch_to(world.driver_);  // for good
    }
    void give_turn(size_t rank) {
        entering_world_ = this, entering_rank_ = rank;
        driver_.switch_to(hosts_[rank].context);
    }
    [[nodiscard]] bool all_ended() const {
        return std::ranges::all_of(hosts_, [](const HostState &host) { return host.ended; });
    }
    // The only possible event left: waiting ranks see that another rank is lost.
    bool pass_time() {
        if (!lost) return false;
        for (size_t r = 0; r < hosts_.size(); ++r)
            if (!hosts_[r].ended) give_turn(r);
        return true;
    }
    std::vector<std::function<void()>> possible() {
        std::vector<std::function<void()>> out;
        bool all_start = true, all_sum = true;
        for (LazyDevice &device : devices) {
            device.settle();
            for (auto &[key, stream] : device.streams) {
                if (stream.can_run()) out.emplace_back([&stream = stream] { stream.run_one(); });
            }
            if (!device.in_progress.empty())
                out.emplace_back([&device] {
                    LazyTask &first = device.in_progress.front();
                    device.streams[first.stream].tasks.push_back(std::move(first));
                    device.in_progress.pop_front();
                });
            all_start = all_start && device.ring == LazyDevice::Starting;
            all_sum = all_sum && device.next_group() != nullptr;
        }
        if (all_start)
            out.emplace_back([this] {
                for (LazyDevice &device : devices) device.ring = LazyDevice::Up;
            });
        if (all_sum) out.emplace_back([this] { call_nccl(); });
        for (size_t r = 0; r < hosts_.size(); ++r)
            if (!hosts_[r].ended && hosts_[r].over()) out.emplace_back([this, r] { give_turn(r); });
        return out;
    }
    // Runs all ranks' groups, call by call.
    void call_nccl() {
        std::vector<std::vector<Gpu::Call>> groups;
        for (LazyDevice &device : devices) {
            LazyStream &stream = *device.next_group();
            groups.push_back(std::move(stream.tasks.front().group));
            stream.tasks.pop_front(), ++stream.ran;
        }
        for (size_t i = 0; i < groups[0].size(); ++i) {
            std::vector<Gpu::Call> calls;
            for (const auto &group : groups) calls.push_back(group.at(i));
            call_nccl(calls);
        }
    }
    void call_nccl(const std::vector<Gpu::Call> &calls) {
        const size_t ranks = devices.size(), block = calls[0].count * dtype_bytes(calls[0].dtype);
        const bool gathers = calls[0].kind == Gpu::Call::AllGather;
        const bool scatters = calls[0].kind == Gpu::Call::ReduceScatter;
        std::vector<std::vector<std::byte>> inputs;
        for (const Gpu::Call &each : calls) {
            const auto *from = static_cast<const std::byte *>(each.send);
            inputs.emplace_back(from, from + (scatters ? ranks * block : block));
        }
        for (size_t r = 0; r < ranks; ++r) {
            std::vector<const void *> sources;
            for (size_t s = 0; s < ranks; ++s) {
                sources.push_back(inputs[s].data() + (scatters ? r * block : 0));
                if (gathers)
                    memcpy(static_cast<std::byte *>(calls[r].recv) + s * block, inputs[s].data(),
                           block);
            }
            if (gathers) continue;
            reduce({.dtype = calls[r].dtype,
                    .op = calls[r].op,
                    .ranks = int(ranks),
                    .sources = sources,
                    .out = calls[r].recv,
                    .count = calls[r].count});
        }
    }
    // Everything that the rest of the run depends on.
    [[nodiscard]] std::string state() const {
        std::string out;
        auto add = [&](const auto &value) {
            out.append(reinterpret_cast<const char *>(&value), sizeof value);
        };
        for (const HostState &host : hosts_) add(host.waits), add(host.ended), add(host.gathers);
        for (const LazyDevice &device : devices) {
            add(device.ring), add(device.in_progress.size());
            for (const auto &[key, stream] : device.streams)
                add(stream.ran), add(stream.tasks.size());
            for (const auto *memory : {&device.memory, &device.pinned})
                for (const auto &each : *memory)
                    out.append(reinterpret_cast<const char *>(each.data()),
                               each.size() * sizeof(float));
        }
        for (const auto &round : rounds_)
            for (const auto &each : round)
                if (each) out.append(reinterpret_cast<const char *>(each->data()), each->size());
        return out;
    }

    std::deque<HostState> hosts_;
    LazyContext driver_;
    static inline LazyWorld *entering_world_ = nullptr;
    static inline size_t entering_rank_ = 0;
    std::deque<std::vector<std::optional<std::vector<std::byte>>>> rounds_;
    bool stuck_ = false;
};

// A rank's device, as the library sees it.
class LazyGpu : public Gpu {
  public:
    LazyGpu(LazyWorld &world, int rank)
        : world_(world), rank_(rank), device_(world.devices[size_t(rank)]) {}

    int device_of(const void *memory) override {
        return device_.holds(memory) ? device_.faults.number : -1;
    }
    Status open(int) override {
        if (!device_.faults.open_fails) return {};
        return {RINGRT_SYSTEM_ERROR, "GPU 0: its primary context: as the test wants"};
    }
    Name name() const override { return {std::byte(device_.faults.number)}; }
    Status check_not_captured(void *) override { return {}; }
    Status mark(void *stream, Event *out) override {
        auto event = std::make_shared<LazyEvent>();
        device_.streams[stream].tasks.push_back({.run = {}, .records = event});
        *out = event;
        return {};
    }
    Status make_stream_wait(void *stream, const Event &event) override {
        if (!device_.faults.streams_run_on) wait_in(device_.streams[stream], event);
        return {};
    }
    Status passed(const Event &event, bool *out) override {
        device_.settle();
        *out = std::static_pointer_cast<LazyEvent>(event)->done;
        return {};
    }
    Status between(const Event &, const Event &, double *us) override {
        *us = 0;
        return {};
    }
    Status mark_own(Event *out) override { return mark(nullptr, out); }
    Status after(const Event &event) override {
        if (!device_.faults.forgets_events) wait_in(device_.own(), event);
        return {};
    }
    Status start_copy(void *out, const void *in, size_t bytes) override {
        device_.own().tasks.push_back({.run = [=] { memmove(out, in, bytes); }});
        return {};
    }
    bool can_reduce() override { return device_.faults.reduces; }
    Status start_reduce(std::span<const void *const> sources, void *out, size_t count,
                        ringrt_dtype_t dtype, ringrt_op_t op) override {
        const std::vector<const void *> from(sources.begin(), sources.end());
        device_.own().tasks.push_back({.run = [=] {
            reduce({.dtype = dtype,
                    .op = op,
                    .ranks = int(from.size()),
                    .sources = from,
                    .out = out,
                    .count = count});
        }});
        return {};
    }
    // Waits here, because the result changes only when an event happens.
    Status look(State *out) override {
        *out = world_.wait(rank_, [this] { return device_.idle(); }) ? State::Over : State::Running;
        return {};
    }
    Status alloc(size_t bytes, bool host, void **out) override {
        std::vector<std::vector<float>> &memory = host ? device_.pinned : device_.memory;
        const size_t kept =
            std::min<size_t>(bytes, 64);  // of a staging buffer: few elements are summed
        *out = memory.emplace_back(kept / sizeof(float), -77.0F).data();
        return {};
    }
    void free(void *, bool) override {}  // the world owns it
    Status available(size_t *) override { return {}; }
    Status share(void *memory, Handle *out) override {
        if (device_.faults.share_fails) return {RINGRT_SYSTEM_ERROR, "no peer access"};
        const size_t place[] = {size_t(rank_), device_.index_of(memory)};
        memcpy(out->data(), place, sizeof place);
        return {};
    }
    Status open_shared(const Handle &handle, void **out) override {
        size_t place[2];
        memcpy(place, handle.data(), sizeof place);
        *out = world_.devices[place[0]].memory[place[1]].data();
        return {};
    }
    void close_shared(void *) override {}

    bool has_nccl() override { return device_.faults.nccl; }
    Status nccl_unique_id(Secret *) override { return {}; }
    Status nccl_start(const Secret &, int, int) override {
        if (device_.faults.start_fails)
            return {RINGRT_SYSTEM_ERROR,
                    "NCCL on GPU 0: ncclCommInitRankConfig: as the test wants"};
        device_.ring = LazyDevice::Starting;
        return {};
    }
    Status nccl_call(std::span<const Call> calls, Stream stream) override {
        device_.in_progress.push_back({.run = {},
                                       .group = {calls.begin(), calls.end()},
                                       .stream = stream.own ? nullptr : stream.program});
        return {};
    }
    // Waits here, as look() does.
    Status entered(bool *out) override {
        if (device_.faults.enters_late) return *out = true, Status{};
        *out = world_.wait(rank_, [this] { return device_.in_progress.empty(); });
        return {};
    }
    void nccl_stop() override {}  // nccl_call() does not wait
    void nccl_end(bool) override {
        device_.ring = LazyDevice::None;
        device_.in_progress.clear();
        for (auto &[key, stream] : device_.streams)
            std::erase_if(stream.tasks, [](const LazyTask &each) { return !each.group.empty(); });
    }

  private:
    static void wait_in(LazyStream &stream, const Event &event) {
        stream.tasks.push_back({.run = {}, .waits = std::static_pointer_cast<LazyEvent>(event)});
    }

    LazyWorld &world_;
    const int rank_;
    LazyDevice &device_;
};

}  // namespace ringrt::test
