// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/topology.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "libringrt/base/slurm_env.h"
#include "libringrt/base/wire_string.h"

namespace ringrt {
namespace {

// What each rank reports about itself to rank 0. Strings are 0-terminated. An unauthenticated peer
// cannot send such information (handshake.h), but reads are bounded anyway.
struct RankInfo {
    char host[64];
    char boot[40];
    char label[64];
    uint64_t shm_device;
    int32_t port;
    uint32_t version;
    uint32_t by_callbacks;  // 1: the caller's MPI carries messages between nodes
    uint32_t zero;
    char addresses[640];  // separated by blanks
};

constexpr uint32_t kWireVersion = 4;

std::string boot_id() {
    char text[40] = "";
    Fd fd(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    ssize_t bytes = fd.valid() ? read(fd.get(), text, 36) : 0;
    return {text, size_t(std::max<ssize_t>(bytes, 0))};
}

RankInfo own_info(const std::string &label, int data_port, bool by_callbacks) {
    RankInfo info{};
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    put(info.host, host);
    put(info.boot, boot_id());
    put(info.label, label.empty() ? node_label() : label);
    struct stat shm;
    info.shm_device = stat("/dev/shm", &shm) == 0 ? uint64_t(shm.st_dev) : 0;
    info.port = data_port;
    info.version = kWireVersion;
    info.by_callbacks = by_callbacks ? 1 : 0;
    put(info.addresses, join_addresses(own_addresses(), sizeof info.addresses));
    return info;
}

// What all ranks get: this, a place for each rank, and the hosts' texts.
struct Summary {
    uint32_t ranks, hosts;
    int32_t other_version, other_transport;  // a rank that differs from rank 0; -1: none
    uint32_t by_callbacks;                   // at rank 0
};
struct Place {
    uint16_t node, host, port;  // there are at most 2^16 ranks
};

// Numbers equal keys alike, in the order in which they are first seen.
class Numbers {
  public:
    uint16_t of(const std::string &key) {
        return uint16_t(known_.try_emplace(key, known_.size()).first->second);
    }

  private:
    std::unordered_map<std::string, size_t> known_;
};

std::string node_key(const RankInfo &info, size_t rank) {
    // Without a boot id, no other rank is known to share the node.
    if (info.boot[0] == 0) return "rank " + std::to_string(rank);
    return get(info.boot) + "\n" + get(info.label) + "\n" + std::to_string(info.shm_device);
}

std::vector<std::byte> summarize(std::span<const std::byte> all) {
    std::vector<RankInfo> infos(all.size() / sizeof(RankInfo), RankInfo{});
    memcpy(infos.data(), all.data(), all.size());
    Summary summary{.ranks = uint32_t(infos.size()),
                    .hosts = 0,
                    .other_version = -1,
                    .other_transport = -1,
                    .by_callbacks = infos[0].by_callbacks};
    std::vector<Place> places;
    std::string texts;
    Numbers nodes, hosts;
    for (size_t r = 0; r < infos.size(); ++r) {
        const RankInfo &info = infos[r];
        if (summary.other_version < 0 && info.version != kWireVersion)
            summary.other_version = int32_t(r);
        if (summary.other_transport < 0 && info.by_callbacks != infos[0].by_callbacks)
            summary.other_transport = int32_t(r);
        const std::string host = get(info.host) + '\0' + get(info.addresses) + '\0';
        places.push_back({.node = nodes.of(node_key(info, r)),
                          .host = hosts.of(host),
                          .port = uint16_t(info.port)});
        if (places.back().host < summary.hosts) continue;
        texts += host;
        ++summary.hosts;
    }
    std::vector<std::byte> out;
    const auto append = [&](std::span<const std::byte> bytes) {
        out.insert(out.end(), bytes.begin(), bytes.end());
    };
    append(std::as_bytes(std::span(&summary, 1)));
    append(std::as_bytes(std::span(places)));
    append(std::as_bytes(std::span(texts)));
    return out;
}

// Reads a 0-terminated text from the front of `texts`.
std::string take_text(std::string_view *texts) {
    const std::string text(texts->substr(0, texts->find('\0')));
    texts->remove_prefix(std::min(texts->size(), text.size() + 1));
    return text;
}

Status check_summary(const RankContext &self, const Summary &summary, bool by_callbacks) {
    if (summary.other_version >= 0)
        return {RINGRT_MISMATCH, format_text("rank %d: rank %d runs another version of libringrt",
                                             self.rank, summary.other_version)};
    const bool at_0 = summary.by_callbacks != 0;
    if (summary.other_transport < 0) return {};
    // A rank that differs from rank 0 names rank 0.
    const int other = by_callbacks == at_0 ? summary.other_transport : 0;
    return {
        RINGRT_MISMATCH,
        format_text("rank %d uses transport %s and rank %d %s: set RINGRT_TRANSPORT "
                    "the same for all ranks",
                    self.rank, by_callbacks ? "mpi" : "tcp", other, by_callbacks ? "tcp" : "mpi")};
}

}  // namespace

Endpoint Topology::endpoint(int rank) const {
    return {hosts[host_of_rank[size_t(rank)]].addresses, port_of_rank[size_t(rank)]};
}

std::vector<int> Topology::ranks_per_node() const {
    std::vector<int> ranks(size_t(nodes), 0);
    for (int node : node_of_rank) ++ranks[size_t(node)];
    return ranks;
}

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

Status find_topology(const RankContext &self, const std::string &label, Bootstrap *bootstrap,
                     int data_port, bool by_callbacks, Topology *out) {
    RankInfo mine = own_info(label, data_port, by_callbacks);
    std::vector<std::byte> merged;
    RINGRT_TRY(bootstrap->spread(std::as_bytes(std::span(&mine, 1)), summarize, &merged));
    Summary summary{};
    memcpy(&summary, merged.data(), std::min(merged.size(), sizeof summary));
    const size_t places_bytes = size_t(summary.ranks) * sizeof(Place);
    if (summary.ranks != uint32_t(self.size) || merged.size() < sizeof summary + places_bytes)
        return {RINGRT_MISMATCH, format_text("rank %d: rank 0 sent an invalid summary", self.rank)};
    RINGRT_TRY(check_summary(self, summary, by_callbacks));
    std::vector<Place> places(summary.ranks);
    memcpy(places.data(), merged.data() + sizeof summary, places_bytes);
    out->nodes = 0;
    for (const Place &place : places) {
        out->node_of_rank.push_back(place.node);
        out->host_of_rank.push_back(place.host);
        out->port_of_rank.push_back(place.port);
        out->nodes = std::max(out->nodes, place.node + 1);
    }
    const size_t texts_at = sizeof summary + places_bytes;
    std::string_view texts(reinterpret_cast<const char *>(merged.data()) + texts_at,
                           merged.size() - texts_at);
    for (uint32_t h = 0; h < summary.hosts; ++h) {
        std::string name = take_text(&texts);
        out->hosts.push_back({std::move(name), split_addresses(take_text(&texts))});
    }
    for (uint16_t host : out->host_of_rank)
        if (host >= out->hosts.size())
            return {RINGRT_MISMATCH,
                    format_text("rank %d: rank 0 sent an invalid summary", self.rank)};
    return {};
}

}  // namespace ringrt
