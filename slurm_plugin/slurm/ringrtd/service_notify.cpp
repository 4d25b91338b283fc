// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/ringrtd/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace ringrt::slurm {

// A name that begins with @ is an abstract socket of Linux.
void notify_service(const std::string &state) {
    const char *path = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address{};
    if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
    const std::size_t length = std::strlen(path);
    if (length >= sizeof address.sun_path) return;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = '\0';
    const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return;
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
    (void)!sendto(file, state.data(), state.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr *>(&address), bytes);
    close(file);
}

double watchdog_s() {
    const char *usec = std::getenv("WATCHDOG_USEC");
    const char *pid = std::getenv("WATCHDOG_PID");
    if (usec == nullptr || (pid != nullptr && std::atol(pid) != getpid())) return 0;
    return std::strtod(usec, nullptr) * 1e-6;
}

}  // namespace ringrt::slurm
