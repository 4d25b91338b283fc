// SPDX-License-Identifier: BSD-3-Clause
// A rank of an extension asks rank 0 of the base to join.
#pragma once

#include <functional>
#include <string>

#include "libringrt/base/socket.h"
#include "libringrt/live/join_messages.h"

namespace ringrt::live {

class JoinConnection {
  public:
    // Finds the base and asks; looks for it until the deadline. `give_up` ends it sooner.
    Status ask(const std::string &folder, const JoinRequest &request, Deadline *deadline,
               const std::function<bool()> &give_up);

    // Waits for up to `wait_ms`. INVALID_ARGUMENT: refused. PEER_LOST: the base closed the
    // connection, since it called the join off, or is gone.
    Status poll(int wait_ms, bool *invited, JoinAnswer *answer);

  private:
    Fd fd_;
    JoinAnswer answer_;
    size_t heard_ = 0;
};

}  // namespace ringrt::live
