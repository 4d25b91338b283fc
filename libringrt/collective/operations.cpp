// SPDX-License-Identifier: BSD-3-Clause
// How a communicator carries an operation out: over the node's memory, by a schedule over the
// transport, along the rails between nodes, or on the GPU.
#include <cstring>

#include "libringrt/collective/communicator_impl.h"
#include "libringrt/collective/hierarchical.h"

namespace ringrt {

namespace {

Schedule make_schedule(Algorithm algorithm, int rank, int size) {
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
        line = status.message;
    }
    bool harmless = status.code == RINGRT_INVALID_ARGUMENT || status.code == RINGRT_UNSUPPORTED ||
                    status.code == RINGRT_FORKED || !status.fatal;
    ringrt_status_t none = RINGRT_OK;
    if (!harmless && failure.compare_exchange_strong(none, status.code)) {
        int failed_rank = status.failed_rank < 0 ? self.rank : status.failed_rank;
        if (transport != nullptr) transport->notify_abort(failed_rank, status);
        if (memory != nullptr) memory->notify_abort(failed_rank, status);
    }
    return status.code;
}

Algorithm Communicator::Impl::algorithm_for(size_t bytes) const {
    return forced ? *forced : choose(costs, self.size, bytes);
}

OpHeader Communicator::Impl::next_op(OpKind kind, const Work &work, uint64_t count, int root) {
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
    OpHeader call = next_op(kAllreduce, work, work.count);
    if (one_node()) return node->allreduce(work, call);
    if (by_rails && work.count > 0) {
        Rail rail{.before = self.rank - local_size, .after = self.rank + local_size};
        if (rail.before < 0) rail.before = -1;
        if (rail.after >= self.size) rail.after = -1;
        return hierarchical_allreduce(work, call, self, rail, *memory, *transport,
                                      node->next_chunk());
    }
    Schedule schedule =
        make_schedule(algorithm_for(work.count * work.element_bytes), self.rank, self.size);
    return execute(schedule, work, call, self, transport.get());
}

// Rank i of every node, each with its own part of the data (device_collectives.h).
Status Communicator::Impl::allreduce_on_rail(const Work &work) {
    OpHeader call = next_op(kAllreduce, work, work.count);
    Schedule schedule = make_schedule(algorithm_for(work.count * work.element_bytes),
                                      self.rank / local_size, topology.nodes);
    for (auto *messages : {&schedule.sends, &schedule.receives}) {
        for (ScheduleMessage &each : *messages)
            each.peer = each.peer * local_size + self.rank % local_size;
    }
    return execute(schedule, work, call, self, transport.get());
}

Status Communicator::Impl::gather_all(const void *mine, void *all, size_t bytes) {
    if (alone(all, mine, bytes)) return {};
    Work work = bytes_of(mine, all, bytes * size_t(self.size), self.size);
    work.only_input_block = self.rank;
    return run(work, next_op(kAllGather, work, bytes), &ShmCollectives::all_gather,
               all_gather_schedule);
}

std::unique_ptr<DeviceCollectives> Communicator::Impl::make_device() {
    return std::make_unique<DeviceCollectives>(
        self, topology, config.find_gpu ? config.find_gpu() : find_gpu(),
        DeviceCollectives::Host{
            .meet = [this](const Work &work) -> Status {
                if (self.size == 1) return {};
                last_barrier_op = next_op(kDeviceAllreduce, work, work.count);
                if (one_node()) return node->barrier(last_barrier_op);
                return execute(dissemination(self.rank, self.size), {}, last_barrier_op, self,
                               transport.get());
            },
            .all_gather = [this](const void *mine, void *all,
                                 size_t bytes) { return gather_all(mine, all, bytes); },
            .allreduce = [this](const Work &work) -> Status {
                if (self.size == 1) return {};
                return allreduce(work);
            },
            .allreduce_on_rail = [this](const Work &work) { return allreduce_on_rail(work); },
            .watch = [this]() -> Status {
                bool moved = false;
                if (memory != nullptr) RINGRT_TRY(memory->check_peers(last_barrier_op));
                return transport == nullptr ? Status{} : transport->progress(0, &moved);
            },
            .start_timeout_ms = config.start_timeout_ms});
}

Status Communicator::Impl::alloc_alone(size_t bytes, void **out) {
    constexpr size_t kPage = 4096;
    const size_t rounded = bytes <= size_t(PTRDIFF_MAX) ? (bytes / kPage + 1) * kPage : bytes;
    std::unique_ptr<void, Release> made(rounded > bytes ? aligned_alloc(kPage, rounded) : nullptr);
    if (made == nullptr) {
        return {RINGRT_NO_MEMORY, format_text("rank %d: no memory for %zu bytes", self.rank, bytes),
                -1, false};
    }
    memset(made.get(), 0, rounded);
    void *at = made.get();
    allocated.emplace(at, std::move(made));
    *out = at;
    return {};
}

Status Communicator::Impl::barrier(OpKind kind) {
    if (self.size == 1) return {};
    OpHeader call = next_op(kind, {}, 0);
    if (one_node()) return node->barrier(call);
    return execute(dissemination(self.rank, self.size), {}, call, self, transport.get());
}

bool Communicator::Impl::alone(void *out, const void *in, size_t bytes) const {
    if (self.size == 1) copy(out, in, bytes, StoreHint::Cached);
    return self.size == 1;
}

Status Communicator::Impl::run(const Work &work, const OpHeader &call, OnNode on_node,
                               Schedule (*schedule)(int rank, int size)) {
    if (one_node()) return ((*node).*on_node)(work, call);
    return execute(schedule(self.rank, self.size), work, call, self, transport.get());
}

Status Communicator::Impl::reduce_scatter(Work work) {
    work.only_output_block = self.rank;
    return run(work, next_op(kReduceScatter, work, work.count), &ShmCollectives::reduce_scatter,
               reduce_scatter_schedule);
}

}  // namespace ringrt
