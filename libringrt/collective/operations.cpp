// SPDX-License-Identifier: BSD-3-Clause
// How a communicator carries an operation out: over the node's memory, by a program over the
// transport, along the rails between nodes, or on the GPU.
#include <cstring>

#include "libringrt/collective/across.h"
#include "libringrt/collective/communicator_impl.h"

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

}  // namespace

// Keeps the line; what ends the communicator is told to the peers.
ringrt_status_t Communicator::Impl::answer(Status status) {
    if (status.ok()) return RINGRT_OK;
    {
        std::lock_guard lock(line_mutex);
        line = status.line;
    }
    bool harmless = status.code == RINGRT_INVALID_ARGUMENT || status.code == RINGRT_UNSUPPORTED ||
                    status.code == RINGRT_FORKED || !status.fatal;
    ringrt_status_t none = RINGRT_OK;
    if (!harmless && failure.compare_exchange_strong(none, status.code)) {
        int culprit = status.culprit < 0 ? world.rank : status.culprit;
        if (transport != nullptr) transport->farewell(culprit, status);
        if (memory != nullptr) memory->farewell(culprit, status);
    }
    return status.code;
}

Algorithm Communicator::Impl::algorithm_for(size_t bytes) const {
    return forced ? *forced : choose(costs, world.size, bytes);
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

// Rank i of every node, each with its own part of the data (device.h).
Status Communicator::Impl::allreduce_on_rail(const Work &work) {
    Call call = next_call(kAllreduce, work, work.count);
    Program program = make_program(algorithm_for(work.count * work.element_bytes),
                                   world.rank / local_size, topology.nodes);
    for (auto *messages : {&program.sends, &program.receives}) {
        for (ProgramMessage &each : *messages)
            each.peer = each.peer * local_size + world.rank % local_size;
    }
    return execute(program, work, call, world, transport.get());
}

Status Communicator::Impl::gather_all(const void *mine, void *all, size_t bytes) {
    if (alone(all, mine, bytes)) return {};
    Work work = bytes_of(mine, all, bytes * size_t(world.size), world.size);
    work.only_input_block = world.rank;
    return run(work, next_call(kAllGather, work, bytes), &NodeCollectives::all_gather, gather);
}

std::unique_ptr<DeviceCollectives> Communicator::Impl::make_device() {
    return std::make_unique<DeviceCollectives>(
        world, topology, config.find_gpu ? config.find_gpu() : find_gpu(),
        DeviceCollectives::Host{
            .meet =
                [this](const Work &work) -> Status {
                if (world.size == 1) return {};
                last_meeting = next_call(kDeviceAllreduce, work, work.count);
                if (one_node()) return node->barrier(last_meeting);
                return execute(dissemination(world.rank, world.size), {}, last_meeting, world,
                               transport.get());
            },
            .all_gather = [this](const void *mine, void *all,
                                 size_t bytes) { return gather_all(mine, all, bytes); },
            .allreduce =
                [this](const Work &work) -> Status {
                if (world.size == 1) return {};
                return allreduce(work);
            },
            .allreduce_on_rail = [this](const Work &work) { return allreduce_on_rail(work); },
            .watch =
                [this]() -> Status {
                bool moved = false;
                if (memory != nullptr) RINGRT_TRY(memory->look_around(last_meeting));
                return transport == nullptr ? Status{} : transport->progress(0, &moved);
            },
            .start_timeout_ms = config.start_timeout_ms});
}

Status Communicator::Impl::alloc_alone(size_t bytes, void **out) {
    constexpr size_t kPage = 4096;
    const size_t rounded = bytes <= size_t(PTRDIFF_MAX) ? (bytes / kPage + 1) * kPage : bytes;
    std::unique_ptr<void, Release> made(rounded > bytes ? aligned_alloc(kPage, rounded) : nullptr);
    if (made == nullptr) {
        return {RINGRT_NO_MEMORY,
                format_line("rank %d: no memory for %zu bytes", world.rank, bytes), -1, false};
    }
    memset(made.get(), 0, rounded);
    void *at = made.get();
    allocated.emplace(at, std::move(made));
    *out = at;
    return {};
}

Status Communicator::Impl::barrier(CallKind kind) {
    if (world.size == 1) return {};
    Call call = next_call(kind, {}, 0);
    if (one_node()) return node->barrier(call);
    return execute(dissemination(world.rank, world.size), {}, call, world, transport.get());
}

bool Communicator::Impl::alone(void *out, const void *in, size_t bytes) const {
    if (world.size == 1) copy(out, in, bytes, Store::Plain);
    return world.size == 1;
}

Status Communicator::Impl::run(const Work &work, const Call &call, OnNode on_node,
                               Program (*program)(int rank, int size)) {
    if (one_node()) return ((*node).*on_node)(work, call);
    return execute(program(world.rank, world.size), work, call, world, transport.get());
}

Status Communicator::Impl::reduce_scatter(Work work) {
    work.only_output_block = world.rank;
    return run(work, next_call(kReduceScatter, work, work.count), &NodeCollectives::reduce_scatter,
               scatter_reduce);
}

}  // namespace ringrt
