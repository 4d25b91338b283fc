// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/shm/open.h"

#include <cstring>

#include "libringrt/base/wire_string.h"

namespace ringrt {
namespace {

// What the first rank of a node reports to the others about the shared file.
struct SegmentInfo {
    char name[64];
    uint64_t chunk_bytes, heap_bytes;
};

constexpr size_t kHeapBytes = size_t{16} << 30;  // address space, not memory

ShmSegment::Shape shape_for(size_t ranks, int nodes) {
    return {.slots = nodes > 1 ? kSlotsMax : 4,
            .chunk_bytes = size_t{ranks > 16 ? 128u : 256u} << 10,
            .heap_bytes = kHeapBytes};
}

// Renumbers the nodes; each rank of a `broken` node becomes its own node.
void dissolve(const std::vector<bool> &broken, Topology *topology) {
    std::vector<int> number(broken.size(), -1);
    int next = 0;
    for (int &node : topology->node_of_rank) {
        auto old = size_t(node);
        if (broken[old] || number[old] < 0) number[old] = next++;
        node = number[old];
    }
    topology->nodes = next;
}

// Collective. *card of each rank that is not the first of its node becomes the first one's.
Status show_leaders(Bootstrap *bootstrap, const Topology &topology, int rank, SegmentInfo *card) {
    const std::vector<int> ranks = topology.ranks_per_node();
    // Nodes that share memory, by their number among these; -1: a rank alone.
    std::vector<int> number(ranks.size(), -1), first(ranks.size(), -1);
    size_t shared = 0;
    for (size_t n = 0; n < ranks.size(); ++n)
        if (ranks[n] > 1) number[n] = int(shared++);
    for (size_t r = topology.node_of_rank.size(); r-- > 0;)
        first[size_t(topology.node_of_rank[r])] = int(r);
    auto leaders = [&](std::span<const std::byte> all) {
        std::vector<std::byte> out(shared * sizeof(SegmentInfo));
        for (size_t n = 0; n < ranks.size(); ++n)
            if (number[n] >= 0)
                memcpy(out.data() + size_t(number[n]) * sizeof(SegmentInfo),
                       all.data() + size_t(first[n]) * sizeof(SegmentInfo), sizeof(SegmentInfo));
        return out;
    };
    std::vector<std::byte> merged;
    RINGRT_TRY(bootstrap->spread(std::as_bytes(std::span(card, 1)), leaders, &merged));
    const auto node = size_t(topology.node_of_rank[size_t(rank)]);
    if (number[node] < 0 || first[node] == rank) return {};
    const size_t at = size_t(number[node]) * sizeof(SegmentInfo);
    if (at + sizeof(SegmentInfo) > merged.size())
        return {RINGRT_MISMATCH, "rank 0 sent too few segments"};
    memcpy(card, merged.data() + at, sizeof(SegmentInfo));
    return {};
}

// Collective. The nodes of which a rank could not map the memory.
Status find_broken(Bootstrap *bootstrap, const Topology &topology, bool mapped,
                   std::vector<bool> *broken) {
    broken->assign(size_t(topology.nodes), false);
    auto list = [&](std::span<const std::byte> all) {
        std::vector<uint16_t> nodes;
        for (size_t r = 0; r < all.size(); ++r)
            if (all[r] == std::byte{0}) nodes.push_back(uint16_t(topology.node_of_rank[r]));
        const auto bytes = std::as_bytes(std::span(nodes));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    const uint8_t mine = mapped ? 1 : 0;
    std::vector<std::byte> merged;
    RINGRT_TRY(bootstrap->spread(std::as_bytes(std::span(&mine, 1)), list, &merged));
    std::vector<uint16_t> nodes(merged.size() / sizeof(uint16_t));
    if (!nodes.empty()) memcpy(nodes.data(), merged.data(), nodes.size() * sizeof(uint16_t));
    for (uint16_t node : nodes)
        if (node < broken->size()) (*broken)[node] = true;
    return {};
}

}  // namespace

Status open_shm(const RankContext &self, Bootstrap *bootstrap, Topology *topology,
                std::unique_ptr<ShmSegment> *out) {
    std::vector<int> here = topology->ranks_of(topology->node_of_rank[size_t(self.rank)]);
    ShmSegment::Shape shape = shape_for(here.size(), topology->nodes);
    bool leader = here.front() == self.rank, alone = here.size() == 1;
    SegmentInfo card{};
    Status status;
    if (leader && !alone) {
        std::string name;
        status = ShmSegment::create(self, here, shape, &name, out);
        if (!status.ok()) {  // the address space may be limited
            shape.heap_bytes = 0;
            status = ShmSegment::create(self, here, shape, &name, out);
        }
        if (status.ok()) put(card.name, name);
        card.chunk_bytes = shape.chunk_bytes, card.heap_bytes = shape.heap_bytes;
    }
    RINGRT_TRY(show_leaders(bootstrap, *topology, self.rank, &card));
    if (!leader) {
        shape.chunk_bytes = card.chunk_bytes, shape.heap_bytes = card.heap_bytes;
        status = ShmSegment::join(self, here, shape, get(card.name), out);
    }
    std::vector<bool> broken;
    Status met = find_broken(bootstrap, *topology, status.ok(), &broken);
    if (*out != nullptr) (*out)->unlink();
    if (*out != nullptr && status.ok()) (*out)->count_cores();
    RINGRT_TRY(std::move(met));
    if (!status.ok())
        self.warn(status.message + "; this node's ranks will use TCP, which is slower");
    if (broken[size_t(topology->node_of_rank[size_t(self.rank)])]) out->reset();
    dissolve(broken, topology);
    return {};
}

}  // namespace ringrt
