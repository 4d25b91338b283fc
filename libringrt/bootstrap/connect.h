// SPDX-License-Identifier: BSD-3-Clause
// The connections of the TCP transport.
#pragma once

#include <vector>

#include "libringrt/base/socket.h"
#include "libringrt/bootstrap/siphash.h"

namespace ringrt {

// Collective. Connects to all other ranks: this rank connects to lower ranks and accepts higher
// ranks at `listener`, the port of its own endpoint. (*out)[own rank] stays invalid.
Status connect_all(const RankContext &self, const std::vector<Endpoint> &endpoints, Fd listener,
                   const Secret &secret, Deadline *deadline, std::vector<Fd> *out);

}  // namespace ringrt
