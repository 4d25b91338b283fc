// SPDX-License-Identifier: BSD-3-Clause
// TCP between all pairs of ranks: one connection per pair, with frames in both directions.
#pragma once

#include <memory>
#include <vector>

#include "libringrt/base/socket.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

// `peers` by rank; the Fd is invalid if there is no connection (this rank itself).
[[nodiscard]] std::unique_ptr<Transport> make_tcp(const RankContext &self, std::vector<Fd> peers);

}  // namespace ringrt
