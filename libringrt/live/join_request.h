// SPDX-License-Identifier: BSD-3-Clause
// Asks rank 0 of the base, from an extension's rank, to join.
#pragma once

#include <functional>
#include <string>

#include "libringrt/base/socket.h"
#include "libringrt/live/join_messages.h"

namespace ringrt::live {

class JoinConnection {
  public:
    // Finds the base and sends the request; retries until the deadline. `give_up` ends it sooner.
    Status ask(const std::string &directory, const JoinRequest &request, Deadline *deadline,
               const std::function<bool()> &give_up);

    // Waits up to `wait_ms`. INVALID_ARGUMENT: refused. PEER_LOST: the base closed the connection,
    // because it called the join off or is gone.
    Status poll(int wait_ms, bool *invited, JoinAnswer *answer);

  private:
    Fd fd_;
    JoinAnswer answer_;
    size_t heard_ = 0;
};

}  // namespace ringrt::live
