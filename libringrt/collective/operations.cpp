// SPDX-License-Identifier: BSD-3-Clause
// Executes a communicator's operations: over the node's shared memory, by a schedule over the
// transport, or along the rails between nodes. For GPU buffers see on_gpu.cpp.
#include <cstring>

#include "libringrt/collective/communicator_impl.h"
#include "libringrt/collective/hierarchical.h"
#include "libringrt/collective/node_chunks.h"
#include "libringrt/schedule/run.h"

namespace ringrt {

namespace {
bool is_sum(OpKind kind) { return kind == kAllreduce || kind == kReduceScatter; }

}  // namespace

// Keeps the line; notifies the peers of a failure that ends the communicator.
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

Schedule Communicator::Impl::schedule_for(const Work &work, int rank, int ranks,
                                          int per_node) const {
    const double partial = double(partial_bytes(work.dtype)) / double(work.element_bytes);
    const Exchange what{.ranks = ranks,
                        .ranks_per_node = per_node,
                        .bytes = work.count * work.element_bytes,
                        .partial_factor = partial};
    return make_schedule(choice.forced ? *choice.forced : choose(costs, choice.order, what), rank,
                         ranks);
}

OpHeader Communicator::Impl::next_op(OpKind kind, const Work &work, uint64_t count, int root) {
    return {.number = ++calls,
            .kind = kind,
            .dtype = uint8_t(work.dtype),
            .op = uint8_t(work.op),
            .detail = is_sum(kind) ? choice.code() : uint8_t(root),
            .count = count,
            .gpu_calls = gpu_calls,
            .gpu_hash = gpu_hash};
}

// Shared memory only.
bool Communicator::Impl::one_node() const { return transport == nullptr; }

Status Communicator::Impl::allreduce(Work work) {
    work.order = choice.order;
    OpHeader call = next_op(kAllreduce, work, work.count);
    if (one_node()) return node->allreduce(work, call);
    if (by_rails && work.count == 0) return meet(call);
    if (has_room_by_nodes() && choice.order == Order::Tree && !choice.forced &&
        shape().has_branches() && !aggregates())
        return run_by_nodes(work, call, allreduce_by_nodes_in_tree_order(self.rank, shape()));
    if (by_rails && choice.order == Order::Rank && !choice.forced) {
        Rail rail{.before = self.rank - local_size, .after = self.rank + local_size};
        if (rail.before < 0) rail.before = -1;
        if (rail.after >= self.size) rail.after = -1;
        return hierarchical_allreduce(work, call, self, rail, *memory, *transport,
                                      node->next_chunk());
    }
    return execute(schedule_for(work, self.rank, self.size, ranks_per_node), work, call, self,
                   transport.get());
}

// Only rank i of every node takes part, each i with its own part of the data
// (device_collectives.h).
Status Communicator::Impl::allreduce_on_rail(Work work) {
    work.order = choice.order;
    OpHeader call = next_op(kAllreduce, work, work.count);
    Schedule schedule = schedule_for(work, self.rank / local_size, topology.nodes, 1);
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
    return all_gather(work, next_op(kAllGather, work, bytes));
}

Status Communicator::Impl::watch(const OpHeader &call) {
    bool moved = false;
    if (memory != nullptr) RINGRT_TRY(memory->check_peers(call));
    return transport == nullptr ? Status{} : transport->progress(0, &moved);
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
    return self.size == 1 ? Status{} : meet(next_op(kind, {}, 0));
}

Status Communicator::Impl::meet(const OpHeader &call) {
    if (one_node()) return node->barrier(call);
    if (by_rails) return run_by_nodes({}, call, barrier_by_nodes(self.rank, shape()));
    return execute(dissemination(self.rank, self.size), {}, call, self, transport.get());
}

// Up to kOneExchangeNodes one exchange with all is faster than several with one each.
Status Communicator::Impl::largest(const void *mine, void *all, size_t count) {
    if (alone(all, mine, count)) return {};
    const Work work = sum_of(mine, all, count, RINGRT_UINT8, RINGRT_MAX, self.size);
    const OpHeader call = next_op(kLargest, work, count);
    constexpr int kOneExchangeNodes = 8;
    if (one_node()) return node->allreduce(work, call);
    NodeShape nodes = by_rails ? shape() : NodeShape{.nodes = self.size};
    nodes.aggregated = nodes.aggregated || nodes.nodes > kOneExchangeNodes;
    const Schedule schedule = largest_by_nodes(self.rank, nodes);
    return by_rails ? run_by_nodes(work, call, schedule)
                    : execute(schedule, work, call, self, transport.get());
}

Status Communicator::Impl::broadcast(const Work &work, const OpHeader &call, int root) {
    if (one_node()) return node->broadcast(work.output, work.count, root, call);
    if (by_rails) return run_by_nodes(work, call, broadcast_by_nodes(self.rank, shape(), root));
    const bool many = self.size > kDirectRanks;
    return execute(many ? binomial_broadcast(self.rank, self.size, root)
                        : binary_tree_broadcast(self.rank, self.size, root),
                   work, call, self, transport.get());
}

bool Communicator::Impl::alone(void *out, const void *in, size_t bytes) const {
    if (self.size == 1) copy(out, in, bytes, StoreHint::Cached);
    return self.size == 1;
}

bool Communicator::Impl::aggregates() const {
    constexpr size_t kLeastBytes = 1024;  // of a block alone; in smaller ones the headers dominate
    return topology.nodes > kDirectRanks ||
           size_t(self.size) * kLeastBytes > memory->shape().chunk_bytes;
}

bool Communicator::Impl::has_room_by_nodes() const {
    return by_rails && size_t(self.size) * kLineBytes <= memory->shape().chunk_bytes;
}

Status Communicator::Impl::run_by_nodes(const Work &work, const OpHeader &call,
                                        const Schedule &schedule) {
    NodeChunks chunks(*memory, *node->next_chunk(), call);
    RINGRT_TRY(execute(schedule, work, call, self, transport.get(), &chunks));
    *node->next_chunk() = chunks.next_chunk();
    return {};
}

Status Communicator::Impl::all_gather(const Work &work, const OpHeader &call) {
    if (one_node()) return node->all_gather(work, call);
    if (has_room_by_nodes())
        return run_by_nodes(work, call, all_gather_by_nodes(self.rank, shape()));
    const bool many = self.size > kDirectRanks;
    return execute(many ? all_gather_doubling(self.rank, self.size)
                        : all_gather_schedule(self.rank, self.size),
                   work, call, self, transport.get());
}

Status Communicator::Impl::reduce_scatter(Work work) {
    work.order = order_of_shares();
    work.only_output_block = self.rank;
    const OpHeader call = next_op(kReduceScatter, work, work.count);
    if (one_node()) return node->reduce_scatter(work, call);
    if (has_room_by_nodes() && work.order == Order::Rank)
        return run_by_nodes(work, call, reduce_scatter_by_nodes_in_rank_order(self.rank, shape()));
    if (has_room_by_nodes() && work.order == Order::Tree && shape().has_branches() && !aggregates())
        return run_by_nodes(work, call, reduce_scatter_by_nodes_in_tree_order(self.rank, shape()));
    const bool chain = self.size > kDirectRanks && work.order == Order::Rank;
    return execute(chain ? reduce_scatter_chain(self.rank, self.size)
                         : reduce_scatter_schedule(self.rank, self.size),
                   work, call, self, transport.get());
}

}  // namespace ringrt
