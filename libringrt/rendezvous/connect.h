// SPDX-License-Identifier: BSD-3-Clause
// The connections that the TCP transport runs on.
#pragma once

#include <vector>

#include "libringrt/rendezvous/siphash.h"
#include "libringrt/transport/socket.h"

namespace ringrt {

// Collective. Connects to all other ranks: this rank knocks at lower ones and lets in higher ones
// at `listener`, the port of its own endpoint. (*out)[own rank] stays invalid.
Status connect_all(const World &world, const std::vector<Endpoint> &endpoints, Fd listener,
                   const Secret &secret, Patience *patience, std::vector<Fd> *out);

}  // namespace ringrt
