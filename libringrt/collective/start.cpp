// SPDX-License-Identifier: BSD-3-Clause
// Start-up of a Communicator: who is where, connections, and what the links cost.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>

#include "libringrt/collective/communicator_impl.h"
#include "libringrt/rendezvous/connect.h"
#include "libringrt/rendezvous/identity.h"
#include "libringrt/transport/messenger.h"
#include "libringrt/transport/tcp.h"

namespace ringrt {
namespace {

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
        RINGRT_TRY(find_topology(world, meeting.get(), port, config.messenger != nullptr, &topology));
        world.hosts = topology.hosts;
        RINGRT_TRY(share_memory(world, meeting.get(), &topology, &memory));
        if (memory != nullptr) node = std::make_unique<NodeCollectives>(*memory);
        std::vector<Fd> peers;
        if (topology.nodes > 1 && config.messenger != nullptr) {
            transport = make_messenger(world, *config.messenger);
        } else if (topology.nodes > 1) {
            RINGRT_TRY(connect_all(world, topology.endpoints, std::move(listener),
                                   meeting->secret(), &patience, &peers));
            transport = make_tcp(world, std::move(peers));
        }
    }
    if (config.messenger != nullptr && transport == nullptr)  // one node: nothing to send
        config.messenger->release(config.messenger->context, 1);
    std::vector<int> here = topology.ranks_of(topology.node_of_rank[size_t(world.rank)]);
    local_size = int(here.size());
    local_rank = config.local_rank;
    for (int i = 0; local_rank < 0; ++i) {
        if (here[size_t(i)] == world.rank) local_rank = i;
    }
    by_rails = topology.nodes > 1 && local_size > 1 && topology.regular() && memory != nullptr;
    forced = forced_algorithm();
    if (transport != nullptr) RINGRT_TRY(measure());
    device = make_device();
    started = true;
    return {};
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

}  // namespace ringrt
