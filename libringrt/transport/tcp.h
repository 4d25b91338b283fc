// SPDX-License-Identifier: BSD-3-Clause
// TCP between ranks: one connection per pair that exchanges messages, with frames in both
// directions. It is made at the pair's first message, so a rank has as many as its algorithms need.
//
// A rank's death closes its connections, which the ranks at their other ends see at once. A rank
// that is not connected to the lost one either waits for a rank that is, directly or along a chain
// of waiting ranks, and each rank of the chain passes the abort notice on; or it waits for a rank
// that still computes, which finds the loss at its next operation.
#pragma once

#include <functional>
#include <memory>

#include "libringrt/base/connections.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

// Finds out by other means than the transport whether a rank is lost.
using LossCheck = std::function<Status(const OpHeader &call)>;

// `on_node`, if any, knows about the ranks of this rank's node, with which it has no connection.
[[nodiscard]] std::unique_ptr<Transport> make_tcp(const RankContext &self,
                                                  std::unique_ptr<Connections> connections,
                                                  LossCheck on_node = {});

}  // namespace ringrt
