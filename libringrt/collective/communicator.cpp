// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>

#include "libringrt/collective/across.h"
#include "libringrt/collective/cost_model.h"
#include "libringrt/collective/execute.h"
#include "libringrt/collective/node.h"
#include "libringrt/collective/progress.h"
#include "libringrt/collective/topology.h"
#include "libringrt/rendezvous/connect.h"
#include "libringrt/rendezvous/identity.h"
#include "libringrt/transport/tcp.h"

namespace ringrt {
namespace {

Program make_program(Algorithm algorithm, int rank, int size) {
    switch (algorithm) {
        case Algorithm::OneShot:
            return one_shot(rank, size);
        case Algorithm::BinaryBlocks:
            return binary_blocks(rank, size);
        case Algorithm::Chain:
            return chain(rank, size);
        case Algorithm::Pairwise:
            break;
    }
    return pairwise(rank, size);
}

// RINGRT_ALGORITHM=one-shot|pairwise|binary-blocks|chain overrides the cost model (for tests).
std::optional<Algorithm> forced_algorithm() {
    const char *wish = getenv("RINGRT_ALGORITHM");
    std::string_view name = wish == nullptr ? "" : wish;
    if (name == "one-shot") return Algorithm::OneShot;
    if (name == "pairwise") return Algorithm::Pairwise;
    if (name == "binary-blocks") return Algorithm::BinaryBlocks;
    if (name == "chain") return Algorithm::Chain;
    return {};
}

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

struct Communicator::Impl {
    CommunicatorConfig config;
    World world;
    Topology topology;
    int local_rank = 0, local_size = 1;
    pid_t pid = getpid();
    bool started = false;
    std::unique_ptr<NodeMemory> memory;     // null for one rank alone on its node
    std::unique_ptr<NodeCollectives> node;  // over it
    std::unique_ptr<Transport> transport;   // null where all ranks share one node
    bool by_rails = false;                  // nodes of equal size, several ranks each (across.h)
    CostModel costs;                        // of the transport, the same on all ranks
    std::optional<Algorithm> forced;
    uint32_t calls = 0;
    std::mutex call_mutex;   // held during a call
    std::mutex start_mutex;  // and during one that only starts something
    Status failure;          // of an operation: final
    mutable std::mutex line_mutex;
    std::string line;
    std::unique_ptr<Progress> progress;  // last: its thread uses all of the above

    Status start();
    Call next_call(CallKind kind, const Work &work, uint64_t count, int root = 0);
    [[nodiscard]] bool one_node() const;
    Status allreduce(const Work &work);
    Status barrier(CallKind kind);
    Status measure();
    [[nodiscard]] Algorithm algorithm_for(size_t bytes) const;
    ringrt_status_t answer(Status status);
    // Whether the progress thread may be at work meanwhile.
    enum Beside : bool { kAlone, kBesideRequests };
    template <class Body>
    ringrt_status_t guarded(Body body, Beside beside = kAlone);
};

// Keeps the line; what ends the communicator is told to the peers.
ringrt_status_t Communicator::Impl::answer(Status status) {
    if (status.ok()) return RINGRT_OK;
    {
        std::lock_guard lock(line_mutex);
        line = status.line;
    }
    bool harmless = status.code == RINGRT_INVALID_ARGUMENT || status.code == RINGRT_UNSUPPORTED ||
                    status.code == RINGRT_FORKED || !status.fatal;
    if (!harmless && failure.ok()) {
        failure = status;
        int culprit = status.culprit < 0 ? world.rank : status.culprit;
        if (transport != nullptr) transport->farewell(culprit, status);
        if (memory != nullptr) memory->farewell(culprit, status);
    }
    return status.code;
}

template <class Body>
ringrt_status_t Communicator::Impl::guarded(Body body, Beside beside) {
    if (getpid() != pid) {
        return answer({RINGRT_FORKED,
                       "this handle belongs to the process that made it; a forked child "
                       "cannot use it"});
    }
    std::unique_lock lock(beside == kAlone ? call_mutex : start_mutex);
    try {
        if (!failure.ok()) return failure.code;
        if (beside == kAlone && progress != nullptr && !progress->may_call()) {
            return answer(
                {RINGRT_INVALID_ARGUMENT,
                 format_line("rank %d: wait for the started operations before calling another",
                             world.rank)});
        }
        if (world.aborted) {
            return answer(
                {RINGRT_ABORTED, format_line("rank %d: aborted", world.rank), world.rank});
        }
        return answer(body());
    } catch (const std::bad_alloc &) {
        return answer({RINGRT_NO_MEMORY, format_line("rank %d: out of memory", world.rank)});
    } catch (const std::exception &e) {
        return answer({RINGRT_SYSTEM_ERROR, format_line("rank %d: %s", world.rank, e.what())});
    }
}

Status Communicator::Impl::start() {
    Identity identity = identity_from_environment();
    if (config.size == 0) {
        config.rank = identity.rank, config.size = identity.size;
        if (config.local_rank < 0) config.local_rank = identity.local_rank;
    }
    if (config.size < 1 || config.rank < 0 || config.rank >= config.size) {
        return {
            RINGRT_INVALID_ARGUMENT,
            format_line("rank %d of %d: a rank is between 0 and size-1", config.rank, config.size)};
    }
    world.rank = config.rank, world.size = config.size;
    if (config.rendezvous.empty()) {
        config.rendezvous = config.rendezvous_dir + "/rendezvous-" + identity.job;
    }
    Patience patience(world, "start-up", config.start_timeout_ms);
    topology = {.hosts = {"localhost"}, .node_of_rank = {0}, .endpoints = {}, .nodes = 1};
    if (world.size > 1) {
        std::unique_ptr<Meeting> meeting;
        RINGRT_TRY(config.allgather != nullptr
                       ? meet(world, config.allgather, config.allgather_context, &meeting)
                       : meet(world, config.rendezvous, &patience, &meeting));
        Fd listener;
        int port = 0;
        RINGRT_TRY(listen_on(&port, &listener));
        topology = {};
        RINGRT_TRY(find_topology(world, meeting.get(), port, &topology));
        world.hosts = topology.hosts;
        RINGRT_TRY(share_memory(world, meeting.get(), &topology, &memory));
        if (memory != nullptr) node = std::make_unique<NodeCollectives>(*memory);
        std::vector<Fd> peers;
        if (topology.nodes > 1)
            RINGRT_TRY(connect_all(world, topology.endpoints, std::move(listener),
                                   meeting->secret(), &patience, &peers));
        if (topology.nodes > 1) transport = make_tcp(world, std::move(peers));
    }
    std::vector<int> here = topology.ranks_of(topology.node_of_rank[size_t(world.rank)]);
    local_size = int(here.size());
    local_rank = config.local_rank;
    for (int i = 0; local_rank < 0; ++i) {
        if (here[size_t(i)] == world.rank) local_rank = i;
    }
    by_rails = topology.nodes > 1 && local_size > 1 && topology.regular() && memory != nullptr;
    forced = forced_algorithm();
    if (transport != nullptr) RINGRT_TRY(measure());
    started = true;
    return {};
}

Algorithm Communicator::Impl::algorithm_for(size_t bytes) const {
    return forced ? *forced : choose(costs, world.size, bytes);
}

// α from barriers of ceil(log2 p) messages, β from a pairwise allreduce, γ from a fold; rank 0's
// are everybody's, so that all choose alike.
Status Communicator::Impl::measure() {
    constexpr size_t kCount = 64 << 10;
    std::vector<float> data(kCount, 0.0f);
    int rounds = std::bit_width(unsigned(world.size - 1));
    double barrier_s = 1e9, sum_s = 1e9, fold_s = 1e9;
    Work work{.input = data.data(), .output = data.data(), .count = kCount, .ranks = world.size};
    const void *sources[] = {data.data(), data.data()};
    for (int i = 0; i < 3; ++i) {
        auto start = Clock::now();
        RINGRT_TRY(barrier(kBarrier));
        barrier_s = std::min(barrier_s, since(start));
        start = Clock::now();
        RINGRT_TRY(execute(pairwise(world.rank, world.size), work,
                           next_call(kAllreduce, work, kCount), world, transport.get()));
        sum_s = std::min(sum_s, since(start));
        start = Clock::now();
        fold({.sources = sources, .out = data.data(), .count = kCount});
        fold_s = std::min(fold_s, since(start));
    }
    double sent = 2.0 * (world.size - 1) / world.size * double(kCount * sizeof(float));
    costs.alpha_s = barrier_s / rounds;
    costs.gamma_s_per_byte = fold_s / double(kCount * sizeof(float));
    costs.beta_s_per_byte = std::max(sum_s - 2 * costs.alpha_s, 1e-9) / sent;
    Work model{.input = &costs,
               .output = &costs,
               .count = sizeof costs,
               .element_bytes = 1,
               .dtype = RINGRT_UINT8,
               .ranks = world.size};
    return execute(tree_broadcast(world.rank, world.size, 0), model,
                   next_call(kBroadcast, model, sizeof costs), world, transport.get());
}

Call Communicator::Impl::next_call(CallKind kind, const Work &work, uint64_t count, int root) {
    return {.number = ++calls,
            .kind = kind,
            .dtype = uint8_t(work.dtype),
            .op = uint8_t(work.op),
            .root_low = uint8_t(root),
            .count = count};
}

// All ranks on one node: nothing but shared memory.
bool Communicator::Impl::one_node() const { return transport == nullptr; }

Status Communicator::Impl::allreduce(const Work &work) {
    Call call = next_call(kAllreduce, work, work.count);
    if (one_node()) return node->allreduce(work, call);
    if (by_rails && work.count > 0) {
        Rail rail{.before = world.rank - local_size, .after = world.rank + local_size};
        if (rail.before < 0) rail.before = -1;
        if (rail.after >= world.size) rail.after = -1;
        return allreduce_across(work, call, world, rail, *memory, *transport, node->next_chunk());
    }
    Program program =
        make_program(algorithm_for(work.count * work.element_bytes), world.rank, world.size);
    return execute(program, work, call, world, transport.get());
}

Status Communicator::Impl::barrier(CallKind kind) {
    if (world.size == 1) return {};
    Call call = next_call(kind, {}, 0);
    if (one_node()) return node->barrier(call);
    return execute(dissemination(world.rank, world.size), {}, call, world, transport.get());
}

Communicator::Communicator(CommunicatorConfig config) : impl_(std::make_unique<Impl>()) {
    impl_->config = std::move(config);
    impl_->world.timeout_ms = impl_->config.timeout_ms;
    impl_->world.warn = impl_->config.warn;
    if (!impl_->world.warn) {
        impl_->world.warn = [](const std::string &line) {
            fprintf(stderr, "ringrt: %s\n", line.c_str());
        };
    }
}

Communicator::~Communicator() {
    if (getpid() == impl_->pid) return;
    (void)impl_.release();  // a forked child: threads, locks and memory are the parent's
}

ringrt_status_t Communicator::start() {
    return impl_->guarded([&]() -> Status {
        if (impl_->started) return {RINGRT_INVALID_ARGUMENT, "start() was called before"};
        return impl_->start();
    });
}

ringrt_status_t Communicator::finish() {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(impl_->barrier(kFinish));
        if (impl_->transport != nullptr) impl_->transport->farewell(-1, {});
        if (impl_->memory != nullptr) impl_->memory->farewell(-1, {});
        return {};
    });
}

int Communicator::rank() const { return impl_->world.rank; }
int Communicator::size() const { return impl_->world.size; }
int Communicator::local_rank() const { return impl_->local_rank; }
int Communicator::local_size() const { return impl_->local_size; }
int Communicator::nodes() const { return impl_->topology.nodes; }
const std::vector<int> &Communicator::node_of_rank() const { return impl_->topology.node_of_rank; }
const std::vector<std::string> &Communicator::host_of_rank() const { return impl_->topology.hosts; }

namespace {

Status check_fold(ringrt_dtype_t dtype, ringrt_op_t op) {
    if (can_fold(dtype, op)) return {};
    return {RINGRT_INVALID_ARGUMENT,
            "no such sum: dtype must be one of the numbers (not uint8), op one of the five"};
}

Status check_started(bool started) {
    if (started) return {};
    return {RINGRT_INVALID_ARGUMENT, "start() has not succeeded"};
}

Status check_buffers(const void *send, const void *recv, size_t bytes, bool may_be_same) {
    auto a = reinterpret_cast<uintptr_t>(send), b = reinterpret_cast<uintptr_t>(recv);
    if (bytes == 0) return {};
    if (send == nullptr || recv == nullptr) return {RINGRT_INVALID_ARGUMENT, "buffer is null"};
    bool same = a == b && may_be_same, apart = a + bytes <= b || b + bytes <= a;
    if (same || apart) return {};
    return {RINGRT_INVALID_ARGUMENT, may_be_same
                                         ? "send and recv overlap without being the same buffer"
                                         : "send and recv may not overlap"};
}

}  // namespace

ringrt_status_t Communicator::allreduce(const void *send, void *recv, size_t count,
                                        ringrt_dtype_t dtype, ringrt_op_t op) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        RINGRT_TRY(check_fold(dtype, op));
        size_t bytes = count * dtype_bytes(dtype);
        RINGRT_TRY(check_buffers(send, recv, bytes, true));
        int size = impl_->world.size;
        if (size == 1) {
            copy(recv, send, bytes, Store::Plain);
            return {};
        }
        Work work{.input = send,
                  .output = recv,
                  .count = count,
                  .element_bytes = dtype_bytes(dtype),
                  .dtype = dtype,
                  .op = op,
                  .ranks = size};
        return impl_->allreduce(work);
    });
}

ringrt_status_t Communicator::reduce_scatter(const void *send, void *recv, size_t count,
                                             ringrt_dtype_t dtype, ringrt_op_t op) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        RINGRT_TRY(check_fold(dtype, op));
        int rank = impl_->world.rank, size = impl_->world.size;
        RINGRT_TRY(
            check_buffers(send, recv, share(count, size, rank).count * dtype_bytes(dtype), false));
        if (size == 1) {
            copy(recv, send, count * dtype_bytes(dtype), Store::Plain);
            return {};
        }
        Work work{.input = send,
                  .output = recv,
                  .count = count,
                  .element_bytes = dtype_bytes(dtype),
                  .dtype = dtype,
                  .op = op,
                  .ranks = size,
                  .only_output_block = rank};
        Call call = impl_->next_call(kReduceScatter, work, count);
        if (impl_->one_node()) return impl_->node->reduce_scatter(work, call);
        return execute(scatter_reduce(rank, size), work, call, impl_->world,
                       impl_->transport.get());
    });
}

ringrt_status_t Communicator::all_gather_shares(const void *send, void *recv, size_t count,
                                                ringrt_dtype_t dtype) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        size_t each = dtype_bytes(dtype);
        if (each == 0) return {RINGRT_INVALID_ARGUMENT, "no such dtype"};
        int rank = impl_->world.rank, size = impl_->world.size;
        if (size == 1) {
            copy(recv, send, count * each, Store::Plain);
            return {};
        }
        Work work{.input = send,
                  .output = recv,
                  .count = count,
                  .element_bytes = each,
                  .dtype = dtype,
                  .ranks = size,
                  .only_input_block = rank};
        Call call = impl_->next_call(kAllGatherShares, work, count);
        if (impl_->one_node()) return impl_->node->all_gather(work, call);
        return execute(gather(rank, size), work, call, impl_->world, impl_->transport.get());
    });
}

ringrt_status_t Communicator::all_gather(const void *send, void *recv, size_t bytes) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        int rank = impl_->world.rank, size = impl_->world.size;
        if (size == 1) {
            copy(recv, send, bytes, Store::Plain);
            return {};
        }
        Work work{.input = send,
                  .output = recv,
                  .count = bytes * size_t(size),
                  .element_bytes = 1,
                  .dtype = RINGRT_UINT8,
                  .ranks = size,
                  .only_input_block = rank};
        Call call = impl_->next_call(kAllGather, work, bytes);
        if (impl_->one_node()) return impl_->node->all_gather(work, call);
        return execute(gather(rank, size), work, call, impl_->world, impl_->transport.get());
    });
}

ringrt_status_t Communicator::broadcast(void *buffer, size_t bytes, int root) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        int rank = impl_->world.rank, size = impl_->world.size;
        if (root < 0 || root >= size) return {RINGRT_INVALID_ARGUMENT, "root is not a rank"};
        if (bytes > 0 && buffer == nullptr) return {RINGRT_INVALID_ARGUMENT, "buffer is null"};
        if (size == 1) return {};
        Work work{.input = buffer,
                  .output = buffer,
                  .count = bytes,
                  .element_bytes = 1,
                  .dtype = RINGRT_UINT8,
                  .ranks = size};
        Call call = impl_->next_call(kBroadcast, work, bytes, root);
        if (impl_->one_node()) return impl_->node->broadcast(buffer, bytes, root, call);
        return execute(tree_broadcast(rank, size, root), work, call, impl_->world,
                       impl_->transport.get());
    });
}

ringrt_status_t Communicator::barrier() {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        return impl_->barrier(kBarrier);
    });
}

ringrt_status_t Communicator::start_allreduce(const void *send, void *recv, size_t count,
                                              ringrt_dtype_t dtype, ringrt_op_t op, int priority,
                                              std::unique_ptr<Request> *out) {
    return impl_->guarded(
        [&]() -> Status {
            RINGRT_TRY(check_started(impl_->started));
            RINGRT_TRY(check_fold(dtype, op));
            RINGRT_TRY(check_buffers(send, recv, count * dtype_bytes(dtype), true));
            if (impl_->progress == nullptr) {
                impl_->progress = std::make_unique<Progress>(*this, impl_->config.timeout_ms);
            }
            *out = impl_->progress->start({send, recv, count, dtype, op, priority});
            return {};
        },
        Impl::kBesideRequests);
}

ringrt_status_t Communicator::alloc(size_t bytes, void **out) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        if (impl_->memory != nullptr) return impl_->memory->alloc(bytes, out);
        size_t rounded = (bytes / 4096 + 1) * 4096;
        void *memory = aligned_alloc(4096, rounded);
        if (memory == nullptr) {
            return {RINGRT_NO_MEMORY,
                    format_line("rank %d: no memory for %zu bytes", impl_->world.rank, bytes)};
        }
        memset(memory, 0, rounded);
        *out = memory;
        return {};
    });
}

ringrt_status_t Communicator::free(void *memory) {
    return impl_->guarded([&]() -> Status {
        if (memory == nullptr) return {};
        if (impl_->memory != nullptr) return impl_->memory->free(memory);
        ::free(memory);
        return {};
    });
}

void Communicator::abort() noexcept {
    impl_->world.aborted = true;
    // A call under way sees the flag within kSliceMs and tells the peers itself.
    std::unique_lock lock(impl_->call_mutex, std::try_to_lock);
    if (!lock.owns_lock() || getpid() != impl_->pid) return;
    if (!impl_->failure.ok()) return;
    (void)impl_->answer(
        {RINGRT_ABORTED, format_line("rank %d: aborted", impl_->world.rank), impl_->world.rank});
}

std::string Communicator::last_error() const {
    std::lock_guard lock(impl_->line_mutex);
    return impl_->line;
}

}  // namespace ringrt
