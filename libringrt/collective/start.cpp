// SPDX-License-Identifier: BSD-3-Clause
// Start-up of a Communicator: topology, connections, and the link costs.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "libringrt/base/slurm_env.h"
#include "libringrt/bootstrap/connect.h"
#include "libringrt/collective/communicator_impl.h"
#include "libringrt/shm/open.h"
#include "libringrt/transport/host_callbacks.h"
#include "libringrt/transport/tcp.h"

namespace ringrt {
namespace {

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

Status open_bootstrap_of(const RankContext &self, const CommunicatorConfig &config,
                         Deadline *deadline, std::unique_ptr<Bootstrap> *out) {
    if (config.allgather != nullptr)
        return open_bootstrap(self, config.allgather, config.allgather_context, out);
    if (config.store) return open_bootstrap(self, config.store, deadline, out);
    return open_bootstrap(self, config.rendezvous, deadline, out);
}

}  // namespace

Status Communicator::Impl::start() {
    RINGRT_TRY(parse_choice(getenv("RINGRT_ORDER"), getenv("RINGRT_ALGORITHM"), &choice));
    RINGRT_TRY(identify());
    Deadline deadline(self, "start-up", config.start_timeout_ms);
    topology = {};
    topology.node_of_rank = {0};
    if (self.size > 1) RINGRT_TRY(connect(&deadline));
    if (config.messenger != nullptr && transport == nullptr)  // one node: nothing to send
        config.messenger->release(config.messenger->context, 1);
    count_local_ranks();
    if (transport != nullptr) RINGRT_TRY(measure());
    device = make_device();
    started = true;
    return {};
}

// Rank and size, by default from Slurm's environment, and where the ranks meet.
Status Communicator::Impl::identify() {
    SlurmIdentity slurm;
    Status in_slurm = slurm_identity(getenv, &slurm);
    if (config.size == 0) {
        RINGRT_TRY(std::move(in_slurm));
        config.rank = slurm.rank, config.size = slurm.size;
        if (config.local_rank < 0) config.local_rank = slurm.local_rank;
    }
    if (config.size < 1 || config.rank < 0 || config.rank >= config.size) {
        return {
            RINGRT_INVALID_ARGUMENT,
            format_text("rank %d of %d: a rank is between 0 and size-1", config.rank, config.size)};
    }
    self.rank = config.rank, self.size = config.size;
    if (config.rendezvous.empty())
        config.rendezvous = config.rendezvous_dir + "/rendezvous-" + slurm.run;
    return {};
}

// Finds the other ranks, the shared memory of this node, and a transport if there are other nodes.
Status Communicator::Impl::connect(Deadline *deadline) {
    std::unique_ptr<Bootstrap> bootstrap;
    RINGRT_TRY(open_bootstrap_of(self, config, deadline, &bootstrap));
    Fd listener;
    int port = 0;
    RINGRT_TRY(listen_on(&port, &listener));
    topology = {};
    RINGRT_TRY(find_topology(self, config.node, bootstrap.get(), port, config.messenger != nullptr,
                             &topology));
    for (const Topology::Host &host : topology.hosts) self.hosts.push_back(host.name);
    self.host_of_rank = topology.host_of_rank;
    RINGRT_TRY(open_shm(self, bootstrap.get(), &topology, &memory));
    if (memory != nullptr) node = std::make_unique<ShmCollectives>(*memory);
    if (topology.nodes == 1) return {};
    if (config.messenger != nullptr) {
        transport = make_host_transport(self, *config.messenger);
        return {};
    }
    transport = make_tcp(self,
                         std::make_unique<Connector>(
                             self, [this](int peer) { return topology.endpoint(peer); },
                             std::move(listener), bootstrap->secret()),
                         [this](const OpHeader &call) {
                             return memory != nullptr ? memory->check_peers(call) : Status{};
                         });
    return {};
}

void Communicator::Impl::count_local_ranks() {
    const std::vector<int> here = topology.ranks_of(topology.node_of_rank[size_t(self.rank)]);
    local_size = int(here.size());
    local_rank = config.local_rank;
    for (int i = 0; local_rank < 0; ++i) {
        if (here[size_t(i)] == self.rank) local_rank = i;
    }
    by_rails = topology.nodes > 1 && local_size > 1 && topology.regular() && memory != nullptr;
    const std::vector<int> sizes = topology.ranks_per_node();
    ranks_per_node = *std::max_element(sizes.begin(), sizes.end());
}

// Measures α from barriers of ceil(log2 p) messages, β from exchanges and γ from a reduction. All
// ranks use rank 0's values, so that all choose alike.
Status Communicator::Impl::measure() {
    constexpr size_t kCount = 64 << 10;
    std::vector<float> data(kCount, 0.0f);
    const void *sources[] = {data.data(), data.data()};
    double barrier_s = 1e9, reduce_s = 1e9;
    const bool many = by_rails || self.size > kDirectRanks;
    RINGRT_TRY(many ? measure_many(&barrier_s) : measure_links(&barrier_s));
    for (int i = 0; i < 3; ++i) {
        const auto start = Clock::now();
        ringrt::reduce({.sources = sources, .out = data.data(), .count = kCount});
        reduce_s = std::min(reduce_s, since(start));
    }
    costs.alpha_s =
        barrier_s / std::bit_width(unsigned(by_rails ? topology.nodes - 1 : self.size - 1));
    costs.gamma_s_per_byte = reduce_s / double(kCount * sizeof(float));
    const Work model = bytes_of(&costs, &costs, sizeof costs, self.size);
    return broadcast(model, next_op(kBroadcast, model, sizeof costs), 0);
}

// With few ranks: from allreduces that connect all pairs.
Status Communicator::Impl::measure_links(double *barrier_s) {
    constexpr size_t kCount = 64 << 10, kBytes = kCount * sizeof(float);
    std::vector<float> data(kCount, 0.0f);
    double direct_s = 1e9, ring_s = 1e9;
    Work work{.input = data.data(), .output = data.data(), .count = kCount, .ranks = self.size};
    auto sum = [&](const Schedule &schedule, double *least_s) -> Status {
        const auto start = Clock::now();
        RINGRT_TRY(
            execute(schedule, work, next_op(kAllreduce, work, kCount), self, transport.get()));
        *least_s = std::min(*least_s, since(start));
        return {};
    };
    for (int i = 0; i < 3; ++i) {
        const auto start = Clock::now();
        RINGRT_TRY(barrier(kBarrier));
        *barrier_s = std::min(*barrier_s, since(start));
        RINGRT_TRY(sum(direct(self.rank, self.size), &direct_s));
        if (choice.order == Order::Ring) RINGRT_TRY(sum(ring(self.rank, self.size), &ring_s));
    }
    // Solved for β with the model's own formulas.
    const Exchange what{.ranks = self.size, .ranks_per_node = ranks_per_node, .bytes = kBytes};
    const CostModel unit{
        .alpha_s = 0, .beta_s_per_byte = 1, .gamma_s_per_byte = 0, .ring_beta_s_per_byte = 1};
    auto beta = [&](Algorithm algorithm, double took_s) {
        CostModel latency = costs;
        latency.beta_s_per_byte = latency.ring_beta_s_per_byte = 0;
        const double rest_s = took_s - seconds(latency, algorithm, what);
        return std::max(rest_s, 1e-9) / seconds(unit, algorithm, what);
    };
    costs.beta_s_per_byte = beta(Algorithm::Direct, direct_s);
    costs.ring_beta_s_per_byte =
        choice.order == Order::Ring ? beta(Algorithm::Ring, ring_s) : costs.beta_s_per_byte;
    return {};
}

// With many ranks, or rails: from all-gathers of the kind that is used, so that no connection is
// made for the measurement alone.
Status Communicator::Impl::measure_many(double *barrier_s) {
    constexpr size_t kBytes = 64 << 10;
    const size_t each = std::max<size_t>(kBytes / size_t(self.size), 1);
    std::vector<std::byte> mine(each), all(each * size_t(self.size));
    double gather_s = 1e9;
    for (int i = 0; i < 2; ++i) {
        auto start = Clock::now();
        RINGRT_TRY(barrier(kBarrier));
        *barrier_s = std::min(*barrier_s, since(start));
        start = Clock::now();
        RINGRT_TRY(gather_all(mine.data(), all.data(), each));
        gather_s = std::min(gather_s, since(start));
    }
    // By nodes each block leaves its node once, otherwise once for every rank of another node.
    const double p = self.size, local = ranks_per_node, out = double(all.size()) * (p - local) / p;
    costs.beta_s_per_byte =
        std::max(gather_s - *barrier_s, 1e-9) / (has_room_by_nodes() ? out : out * local);
    costs.ring_beta_s_per_byte = costs.beta_s_per_byte;
    return {};
}

}  // namespace ringrt
