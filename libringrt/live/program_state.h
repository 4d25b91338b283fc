// SPDX-License-Identifier: BSD-3-Clause
// The state of a program that is not in registered buffers; see ringrt_set_live_state().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libringrt/base/status.h"
#include "libringrt/ringrt.h"

namespace ringrt::live {

inline constexpr uint64_t kPiecesMax = 1 << 20;  // that a program packs

struct ProgramState {
    ringrt_pack_fn pack = nullptr;
    ringrt_unpack_fn unpack = nullptr;
    void *context = nullptr;

    explicit operator bool() const { return pack != nullptr; }

    // What the program packs now, which is valid until it packs or unpacks again. Without a program
    // nothing.
    Status pieces(std::vector<ringrt_piece_t> &out) const;
    // The program's state becomes what was packed as these bytes.
    Status take(const std::vector<std::byte> &packed) const;
};

}  // namespace ringrt::live
