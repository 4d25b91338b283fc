// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/state_chunks.h"

#include <algorithm>

#include "libringrt/checkpoint/source_reader.h"

namespace ringrt::live {
namespace {

using checkpoint::Source;

Status broadcast(Communicator &over, void *data, uint64_t bytes, int root) {
    return over.outcome(over.broadcast(data, bytes, root));
}

// For bytes that this rank does not need.
std::vector<std::byte> scratch_for(const std::vector<Chunk> &chunks) {
    uint64_t largest = 0;
    for (const Chunk &chunk : chunks) largest = std::max(largest, chunk.bytes);
    return std::vector<std::byte>(largest);
}

// Whether the bytes sent were the state.
Status tell_sent(Communicator &over, int root, bool *sent) {
    auto told = static_cast<uint8_t>(*sent);
    RINGRT_TRY(broadcast(over, &told, sizeof told, root));
    *sent = told != 0;
    return {};
}

Status not_sent() {
    return {RINGRT_SYSTEM_ERROR, "the rank that has the state could not read it from its GPU"};
}

}  // namespace

std::vector<Chunk> chunks_of(const std::vector<Place> &places, uint64_t chunk_bytes) {
    std::vector<Chunk> out;
    for (size_t i = 0; i < places.size(); ++i)
        for (uint64_t at = 0; at < places[i].bytes; at += chunk_bytes)
            out.push_back({i, at, std::min(chunk_bytes, places[i].bytes - at)});
    return out;
}

Status send_state(Communicator &over, const std::vector<Place> &places) {
    const int root = over.rank();
    std::vector<Source> sources;
    for (const Chunk &chunk : chunks_of(places, kChunkBytes)) {
        const Place &place = places[chunk.place];
        sources.push_back({.piece = {.bytes = chunk.bytes},
                           .bytes = place.data + chunk.offset,
                           .on_device = place.on_device});
    }
    checkpoint::SourceReader reader(sources);
    Status read;
    size_t sent = 0;
    for (std::vector<Source> window; sent < sources.size();) {
        if (read = reader.next(window); !read.ok()) break;
        for (const Source &source : window) {
            auto *bytes = const_cast<std::byte *>(source.bytes);  // the root only reads
            RINGRT_TRY(broadcast(over, bytes, source.piece.bytes, root));
        }
        sent += window.size();
    }
    if (sent < sources.size()) {  // the same number of bytes, but not the state
        std::vector<std::byte> scratch = scratch_for(chunks_of(places, kChunkBytes));
        for (; sent < sources.size(); ++sent)
            RINGRT_TRY(broadcast(over, scratch.data(), sources[sent].piece.bytes, root));
    }
    bool all_sent = read.ok();
    RINGRT_TRY(tell_sent(over, root, &all_sent));
    return read;
}

Status receive_state(Communicator &over, int root, const std::vector<Place> &places) {
    const std::vector<Chunk> chunks = chunks_of(places, kChunkBytes);
    checkpoint::Staging staging;
    std::vector<std::byte> scratch;
    Status put;
    for (const Chunk &chunk : chunks) {
        const auto &[data, bytes, on_device] = places[chunk.place];
        if (!on_device) {
            RINGRT_TRY(broadcast(over, data + chunk.offset, chunk.bytes, root));
            continue;
        }
        if (put.ok()) put = staging.open(*on_device, kChunkBytes);
        if (!put.ok() && scratch.empty()) scratch = scratch_for(chunks);
        std::byte *half = put.ok() ? staging.half() : scratch.data();
        RINGRT_TRY(broadcast(over, half, chunk.bytes, root));
        if (put.ok()) put = staging.wait();  // for the other half, which is used next
        if (put.ok()) put = staging.start_copy(*on_device, data + chunk.offset, half, chunk.bytes);
        staging.flip();
    }
    if (put.ok()) put = staging.wait();
    bool sent = false;
    RINGRT_TRY(tell_sent(over, root, &sent));
    return put.ok() && !sent ? not_sent() : put;
}

Status pass_state_on(Communicator &over, int root, const std::vector<Place> &places) {
    const std::vector<Chunk> chunks = chunks_of(places, kChunkBytes);
    std::vector<std::byte> scratch = scratch_for(chunks);
    for (const Chunk &chunk : chunks)
        RINGRT_TRY(broadcast(over, scratch.data(), chunk.bytes, root));
    bool sent = false;
    return tell_sent(over, root, &sent);
}

}  // namespace ringrt::live
