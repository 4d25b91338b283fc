// SPDX-License-Identifier: BSD-3-Clause
// Messages through functions that the caller gave (ringrt_messenger_t): the MPI point-to-point of
// the program's own MPI, and with it whatever fabric that drives. libringrt itself links no MPI.
//
// To each message goes one head with tag 0: the frame, and the bytes of a small message; the bytes
// of a larger one follow with tag 1. One receive per peer waits for the next head, and the bytes
// are received straight to where they belong once the head has told what they are.
#pragma once

#include <memory>

#include "libringrt/base/deadline.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

// `messenger` is released with the transport.
[[nodiscard]] std::unique_ptr<Transport> make_host_transport(const RankContext &self,
                                                             const ringrt_messenger_t &messenger);

}  // namespace ringrt
