// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/topology.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "libringrt/base/slurm_env.h"
#include "libringrt/base/wire_string.h"

namespace ringrt {
namespace {

// What each rank reports about itself. Strings are 0-terminated. An unauthenticated peer cannot
// send such information (handshake.h), but reads are bounded anyway.
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

constexpr uint32_t kWireVersion = 3;

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
    std::string addresses;
    for (const std::string &each : own_addresses()) {
        if (addresses.size() + each.size() + 2 < sizeof info.addresses) addresses += each + " ";
    }
    put(info.addresses, addresses);
    return info;
}

Endpoint endpoint_of(const RankInfo &info) {
    Endpoint endpoint{.addresses = {}, .port = info.port};
    std::string text = get(info.addresses);
    for (size_t at = 0, end; (end = text.find(' ', at)) != text.npos; at = end + 1) {
        endpoint.addresses.push_back(text.substr(at, end - at));
    }
    return endpoint;
}

bool same_node(const RankInfo &a, const RankInfo &b) {
    return get(a.boot) == get(b.boot) && get(a.label) == get(b.label) &&
           a.shm_device == b.shm_device && a.boot[0] != 0;
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

Status find_topology(const RankContext &self, const std::string &label, Bootstrap *bootstrap,
                     int data_port, bool by_callbacks, Topology *out) {
    RankInfo mine = own_info(label, data_port, by_callbacks);
    std::vector<std::byte> all;
    RINGRT_TRY(bootstrap->exchange(std::as_bytes(std::span(&mine, 1)), &all));
    std::vector<RankInfo> infos(size_t(self.size), RankInfo{});
    memcpy(infos.data(), all.data(), all.size());
    out->nodes = 0;
    std::vector<size_t> first_of_node;
    for (size_t r = 0; r < infos.size(); ++r) {
        if (infos[r].version != kWireVersion) {
            return {
                RINGRT_MISMATCH,
                format_text("rank %d: rank %zu runs another version of libringrt", self.rank, r)};
        }
        if (infos[r].by_callbacks != mine.by_callbacks) {
            return {RINGRT_MISMATCH,
                    format_text("rank %d uses transport %s and rank %zu %s: set RINGRT_TRANSPORT "
                                "the same for all ranks",
                                self.rank, by_callbacks ? "mpi" : "tcp", r,
                                by_callbacks ? "tcp" : "mpi")};
        }
        auto known = std::find_if(first_of_node.begin(), first_of_node.end(),
                                  [&](size_t first) { return same_node(infos[first], infos[r]); });
        out->node_of_rank.push_back(int(known - first_of_node.begin()));
        if (known == first_of_node.end()) first_of_node.push_back(r);
        out->hosts.push_back(get(infos[r].host));
        out->endpoints.push_back(endpoint_of(infos[r]));
    }
    out->nodes = int(first_of_node.size());
    return {};
}

}  // namespace ringrt
