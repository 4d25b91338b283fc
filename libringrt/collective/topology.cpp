// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/topology.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "libringrt/rendezvous/identity.h"

namespace ringrt {
namespace {

// What each rank tells about itself. Strings end with 0; a stranger cannot send one (handshake.h),
// but they are bounded all the same.
struct Card {
    char host[64];
    char boot[40];
    char label[64];
    uint64_t shm_device;
    int32_t port;
    uint32_t version;
    uint32_t by_messenger;  // 1: messages between nodes go through the caller's MPI
    uint32_t zero;
    char addresses[640];  // separated by blanks
};

constexpr uint32_t kWireVersion = 2;

template <size_t n>
void put(char (&to)[n], const std::string &text) {
    snprintf(to, n, "%s", text.c_str());
}

template <size_t n>
std::string get(const char (&from)[n]) {
    return {from, strnlen(from, n)};
}

std::string boot_id() {
    char text[40] = "";
    Fd fd(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    ssize_t bytes = fd.valid() ? read(fd.get(), text, 36) : 0;
    return {text, size_t(std::max<ssize_t>(bytes, 0))};
}

Card own_card(int data_port, bool by_messenger) {
    Card card{};
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    put(card.host, host);
    put(card.boot, boot_id());
    put(card.label, node_label());
    struct stat shm;
    card.shm_device = stat("/dev/shm", &shm) == 0 ? uint64_t(shm.st_dev) : 0;
    card.port = data_port;
    card.version = kWireVersion;
    card.by_messenger = by_messenger ? 1 : 0;
    std::string addresses;
    for (const std::string &each : own_addresses()) {
        if (addresses.size() + each.size() + 2 < sizeof card.addresses) addresses += each + " ";
    }
    put(card.addresses, addresses);
    return card;
}

Endpoint endpoint_of(const Card &card) {
    Endpoint endpoint{.addresses = {}, .port = card.port};
    std::string text = get(card.addresses);
    for (size_t at = 0, end; (end = text.find(' ', at)) != text.npos; at = end + 1) {
        endpoint.addresses.push_back(text.substr(at, end - at));
    }
    return endpoint;
}

bool same_node(const Card &a, const Card &b) {
    return get(a.boot) == get(b.boot) && get(a.label) == get(b.label) &&
           a.shm_device == b.shm_device && a.boot[0] != 0;
}

// What the first rank of a node tells the others about the shared file.
struct FileCard {
    char name[64];
    uint64_t chunk_bytes, heap_bytes;
};

constexpr size_t kHeapBytes = size_t{16} << 30;  // address space, not memory

NodeMemory::Shape shape_for(size_t ranks, int nodes) {
    return {.slots = nodes > 1 ? kSlotsMax : 4,
            .chunk_bytes = size_t{ranks > 16 ? 128u : 256u} << 10,
            .heap_bytes = kHeapBytes};
}

// Numbers the nodes afresh, where `broken` ones fall apart into their ranks.
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

std::vector<int> Topology::ranks_of(int node) const {
    std::vector<int> ranks;
    for (size_t r = 0; r < node_of_rank.size(); ++r) {
        if (node_of_rank[r] == node) ranks.push_back(int(r));
    }
    return ranks;
}

bool Topology::regular() const {
    size_t each = node_of_rank.size() / size_t(nodes);
    for (size_t r = 0; r < node_of_rank.size(); ++r) {
        if (size_t(node_of_rank[r]) != r / each) return false;
    }
    return each * size_t(nodes) == node_of_rank.size();
}

Status find_topology(const World &world, Meeting *meeting, int data_port, bool by_messenger,
                     Topology *out) {
    Card mine = own_card(data_port, by_messenger);
    std::vector<std::byte> all;
    RINGRT_TRY(meeting->exchange(std::as_bytes(std::span(&mine, 1)), &all));
    std::vector<Card> cards(size_t(world.size), Card{});
    memcpy(cards.data(), all.data(), all.size());
    out->nodes = 0;
    std::vector<size_t> first_of_node;
    for (size_t r = 0; r < cards.size(); ++r) {
        if (cards[r].version != kWireVersion) {
            return {
                RINGRT_MISMATCH,
                format_line("rank %d: rank %zu runs another version of libringrt", world.rank, r)};
        }
        if (cards[r].by_messenger != mine.by_messenger) {
            return {RINGRT_MISMATCH,
                    format_line("rank %d uses transport %s and rank %zu %s: set RINGRT_TRANSPORT "
                                "the same for all ranks",
                                world.rank, by_messenger ? "mpi" : "tcp", r,
                                by_messenger ? "tcp" : "mpi")};
        }
        auto known = std::find_if(first_of_node.begin(), first_of_node.end(),
                                  [&](size_t first) { return same_node(cards[first], cards[r]); });
        out->node_of_rank.push_back(int(known - first_of_node.begin()));
        if (known == first_of_node.end()) first_of_node.push_back(r);
        out->hosts.push_back(get(cards[r].host));
        out->endpoints.push_back(endpoint_of(cards[r]));
    }
    out->nodes = int(first_of_node.size());
    return {};
}

Status share_memory(const World &world, Meeting *meeting, Topology *topology,
                    std::unique_ptr<NodeMemory> *out) {
    std::vector<int> here = topology->ranks_of(topology->node_of_rank[size_t(world.rank)]);
    NodeMemory::Shape shape = shape_for(here.size(), topology->nodes);
    bool leader = here.front() == world.rank, alone = here.size() == 1;
    FileCard card{};
    Status status;
    if (leader && !alone) {
        std::string name;
        status = NodeMemory::create(world, here, shape, &name, out);
        if (!status.ok()) {  // perhaps the address space is limited
            shape.heap_bytes = 0;
            status = NodeMemory::create(world, here, shape, &name, out);
        }
        if (status.ok()) put(card.name, name);
        card.chunk_bytes = shape.chunk_bytes, card.heap_bytes = shape.heap_bytes;
    }
    std::vector<std::byte> all;
    RINGRT_TRY(meeting->exchange(std::as_bytes(std::span(&card, 1)), &all));
    if (!leader) {
        memcpy(&card, all.data() + size_t(here.front()) * sizeof card, sizeof card);
        shape.chunk_bytes = card.chunk_bytes, shape.heap_bytes = card.heap_bytes;
        status = NodeMemory::join(world, here, shape, get(card.name), out);
    }
    uint8_t mapped = status.ok() ? 1 : 0;
    Status met = meeting->exchange(std::as_bytes(std::span(&mapped, 1)), &all);
    if (*out != nullptr) (*out)->unlink();
    if (*out != nullptr && status.ok()) (*out)->count_cores();
    RINGRT_TRY(std::move(met));
    if (!status.ok()) world.warn(status.line + "; this node's ranks will use TCP, which is slower");
    std::vector<bool> broken(size_t(topology->nodes), false);
    for (size_t r = 0; r < all.size(); ++r) {
        if (all[r] == std::byte{0}) broken[size_t(topology->node_of_rank[r])] = true;
    }
    if (broken[size_t(topology->node_of_rank[size_t(world.rank)])]) out->reset();
    dissolve(broken, topology);
    return {};
}

}  // namespace ringrt
