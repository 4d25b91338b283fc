// SPDX-License-Identifier: BSD-3-Clause
// TCP sockets; a Deadline bounds every wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libringrt/base/deadline.h"

namespace ringrt {

// Owns a file descriptor.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd &operator=(Fd &&other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Fd() { close(); }
    void close();
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool valid() const { return fd_ >= 0; }

  private:
    int fd_ = -1;
};

// A rank's endpoint: numeric addresses in the order to try, and one port.
struct Endpoint {
    std::vector<std::string> addresses;
    int port = 0;
};

// Numeric addresses of this machine that others may reach, loopback last. RINGRT_INTERFACE (a name
// such as "ib0") or RINGRT_ADDRESS (a numeric address) restricts them to one.
[[nodiscard]] std::vector<std::string> own_addresses();

// Addresses in a text, each followed by a blank; those that do not fit in `most` bytes are left
// out.
[[nodiscard]] std::string join_addresses(const std::vector<std::string> &addresses, size_t most);
[[nodiscard]] std::vector<std::string> split_addresses(const std::string &text);

// Listens on all interfaces (IPv4, and IPv6 if available). With port 0 the system picks a free one.
// Sets *port.
Status listen_on(int *port, Fd *out);
// Connects to the first address that answers, within about 2 s each; RINGRT_SYSTEM_ERROR if none
// does. `host` names may be resolved here.
Status connect_to(const Endpoint &endpoint, Deadline *deadline, int peer, Fd *out);
// Starts to connect to one address, without waiting: 0, or errno.
int begin_connect(const std::string &address, int port, Fd *out);
// How soon keep-alive notices that the peer's host has vanished. A connection that the peer has not
// answered has longer: if this rank gave it up, the peer might still take it.
inline constexpr std::chrono::seconds kHostLost(20), kHostLostUnanswered(120), kThisHostSilent(300);
// No Nagle delay, non-blocking, keep-alive. May be called again, with another time. A connection
// to this host itself has kThisHostSilent.
void tune(int fd, std::chrono::seconds host_lost = kHostLost);

// Transfer all of `data` within the deadline; RINGRT_PEER_LOST if the connection ends.
Status read_all(int fd, std::span<std::byte> data, Deadline *deadline, int peer);
Status write_all(int fd, std::span<const std::byte> data, Deadline *deadline, int peer);

}  // namespace ringrt
