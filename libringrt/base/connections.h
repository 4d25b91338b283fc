// SPDX-License-Identifier: BSD-3-Clause
// Connections: makes one rank's connections to others when they are first needed.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <vector>

#include "libringrt/base/socket.h"

namespace ringrt {

class Connections {
  public:
    struct Made {
        int peer = -1;
        Fd fd;            // invalid: the peer cannot be reached
        std::string why;  // then
    };
    virtual ~Connections() = default;
    // Starts to connect to `peer`, which may be doing the same. Not for a peer that has been made.
    virtual void want(int peer) = 0;
    // Some peers are wanted and not made yet.
    [[nodiscard]] virtual bool busy() const = 0;
    // Goes on without waiting, and also takes connections that other ranks have begun. Appends each
    // peer once.
    virtual Status progress(std::vector<Made> *made) = 0;
    // Appends what to poll for before the next progress().
    virtual void add_to(std::vector<pollfd> *polled) const = 0;
    // Descriptors that a forked child must close.
    [[nodiscard]] virtual int listener() const = 0;
};

}  // namespace ringrt
