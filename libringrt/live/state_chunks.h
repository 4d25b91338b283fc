// SPDX-License-Identifier: BSD-3-Clause
// Sends a state to all ranks in chunks, which are the same on all ranks. A chunk of a GPU's buffer
// passes through a staging half while the next one is copied.
#pragma once

#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/collective/communicator.h"

namespace ringrt::live {

inline constexpr uint64_t kChunkBytes = 16 << 20;

// The location of a part of the state at this rank.
struct Place {
    std::byte *data = nullptr;
    uint64_t bytes = 0;
    const checkpoint::Buffer *on_device = nullptr;  // set: in the memory of this GPU buffer
};

// Bytes [offset, offset + bytes) of a place.
struct Chunk {
    size_t place = 0;
    uint64_t offset = 0, bytes = 0;

    bool operator==(const Chunk &) const = default;
};

// The chunks of these places.
[[nodiscard]] std::vector<Chunk> chunks_of(const std::vector<Place> &places, uint64_t chunk_bytes);

// Collective: each rank calls one of the three, with places of the same sizes. All take part until
// the end, so that a failure at one rank costs the others no wait. SYSTEM_ERROR at a rank whose GPU
// fails, and at all receivers if the sender's GPU fails: these hold neither the old nor the new
// state.
Status send_state(Communicator &over, const std::vector<Place> &places);
Status receive_state(Communicator &over, int root, const std::vector<Place> &places);
// For a rank that has the state: it only needs the sizes.
Status pass_state_on(Communicator &over, int root, const std::vector<Place> &places);

}  // namespace ringrt::live
