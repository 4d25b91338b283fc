// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/api/sent_blobs.h"

#include "libringrt/base/wire_string.h"
#include "libringrt/checkpoint/layout.h"

namespace ringrt {
namespace {

struct BlobHead {
    uint64_t bytes = 0;
    char name[checkpoint::kNameBytesMax + 8] = {};
};

Status broadcast(Communicator &over, int root, void *data, size_t bytes) {
    return bytes > 0 ? over.outcome(over.broadcast(data, bytes, root)) : Status{};
}

Status send_heads(Communicator &over, int root, std::vector<BlobHead> &heads) {
    uint64_t count = heads.size();
    RINGRT_TRY(broadcast(over, root, &count, sizeof count));
    if (count > checkpoint::kParametersMax)
        return {RINGRT_MISMATCH, format_text("rank %d sent an invalid number of blobs", root)};
    heads.resize(count);
    return broadcast(over, root, heads.data(), count * sizeof(BlobHead));
}

}  // namespace

Status SentBlobs::get(const std::string &name, int rank, std::vector<std::byte> &out) const {
    if (root < 0)
        return {RINGRT_NOT_FOUND,
                "the last ringrt_job_resize() has sent no blobs: every rank has the state"};
    if (rank != root)
        return {RINGRT_NOT_FOUND,
                format_text("ringrt_job_resize() has sent the blobs of rank %d only", root)};
    const auto found = blobs.find(name);
    if (found == blobs.end())
        return {RINGRT_NOT_FOUND, format_text("rank %d had not set this blob", root)};
    out = found->second;
    return {};
}

// One by one, because they may be large.
Status send_blobs(Communicator &over, int root, const Blobs &own, SentBlobs &out) {
    out = {.root = root, .blobs = {}};
    if (root < 0) return {};
    std::vector<BlobHead> heads;
    if (over.rank() == root) {
        out.blobs = own;
        for (const auto &[name, bytes] : own) {
            heads.push_back({.bytes = bytes.size()});
            put(heads.back().name, name);
        }
    }
    RINGRT_TRY(send_heads(over, root, heads));
    for (const BlobHead &head : heads) {
        std::vector<std::byte> &blob = out.blobs[get(head.name)];
        blob.resize(head.bytes);
        RINGRT_TRY(broadcast(over, root, blob.data(), blob.size()));
    }
    return {};
}

}  // namespace ringrt
