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
    std::vector<std::byte> all;
    RINGRT_TRY(bootstrap->exchange(std::as_bytes(std::span(&card, 1)), &all));
    if (!leader) {
        memcpy(&card, all.data() + size_t(here.front()) * sizeof card, sizeof card);
        shape.chunk_bytes = card.chunk_bytes, shape.heap_bytes = card.heap_bytes;
        status = ShmSegment::join(self, here, shape, get(card.name), out);
    }
    uint8_t mapped = status.ok() ? 1 : 0;
    Status met = bootstrap->exchange(std::as_bytes(std::span(&mapped, 1)), &all);
    if (*out != nullptr) (*out)->unlink();
    if (*out != nullptr && status.ok()) (*out)->count_cores();
    RINGRT_TRY(std::move(met));
    if (!status.ok())
        self.warn(status.message + "; this node's ranks will use TCP, which is slower");
    std::vector<bool> broken(size_t(topology->nodes), false);
    for (size_t r = 0; r < all.size(); ++r) {
        if (all[r] == std::byte{0}) broken[size_t(topology->node_of_rank[r])] = true;
    }
    if (broken[size_t(topology->node_of_rank[size_t(self.rank)])]) out->reset();
    dissolve(broken, topology);
    return {};
}

}  // namespace ringrt
