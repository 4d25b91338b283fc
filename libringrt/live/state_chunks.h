// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a state on their way to all ranks, in chunks that are the same on all of them: a
// chunk of a GPU's buffer passes through a staging, while the next one is copied.
#pragma once

#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/collective/communicator.h"

namespace ringrt::live {

inline constexpr uint64_t kChunkBytes = 16 << 20;

// Where a part of the state is at this rank.
struct Place {
    std::byte *data = nullptr;
    uint64_t bytes = 0;
    const checkpoint::Buffer *on_device = nullptr;  // set: in this buffer's, which is a GPU's
};

// Bytes [offset, offset + bytes) of a place.
struct Chunk {
    size_t place = 0;
    uint64_t offset = 0, bytes = 0;

    bool operator==(const Chunk &) const = default;
};

// Of places of these sizes.
[[nodiscard]] std::vector<Chunk> chunks_of(const std::vector<Place> &places, uint64_t chunk_bytes);

// Collective, one of the three at each rank, with places of the same sizes. All take part to the
// end: what fails at one rank costs the others no wait. SYSTEM_ERROR at a rank whose GPU fails, and
// at all who receive where the sender's does: they hold neither the old state nor the new one.
Status send_state(Communicator &over, const std::vector<Place> &places);
Status receive_state(Communicator &over, int root, const std::vector<Place> &places);
// For a rank that has the state: only the sizes count.
Status pass_state_on(Communicator &over, int root, const std::vector<Place> &places);

}  // namespace ringrt::live
