// SPDX-License-Identifier: BSD-3-Clause
// Messages through functions of the caller (ringrt_messenger_t): the point-to-point calls of the
// program's own MPI, on any fabric that it supports. libringrt itself does not link MPI.
//
// Each message has one head with tag 0: the frame, and the data of a small message. The data of a
// larger one follows with tag 1. One receive per peer waits for the next head; after it, data is
// received directly into its destination.
#pragma once

#include <memory>

#include "libringrt/base/deadline.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

// The transport releases `messenger` when it is destroyed.
[[nodiscard]] std::unique_ptr<Transport> make_host_transport(const RankContext &self,
                                                             const ringrt_messenger_t &messenger);

}  // namespace ringrt
