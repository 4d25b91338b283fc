// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ringrt {
namespace {

constexpr int kConnectMs = 2000;

std::string numeric(const sockaddr *address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET) {
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in *>(address)->sin_addr, text,
                  sizeof text);
    } else if (address->sa_family == AF_INET6) {
        const auto &v6 = reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr;
        if (!IN6_IS_ADDR_LINKLOCAL(&v6)) inet_ntop(AF_INET6, &v6, text, sizeof text);
    }
    return text;
}

// One attempt of at most kConnectMs; false: try the next address.
bool connect_once(const addrinfo &target, Deadline *deadline, int peer, Status *why, Fd *out) {
    Fd fd(socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return false;
    if (connect(fd.get(), target.ai_addr, target.ai_addrlen) != 0) {
        if (errno != EINPROGRESS) return false;
        pollfd waiting{.fd = fd.get(), .events = POLLOUT, .revents = 0};
        auto start = Clock::now();
        while (poll(&waiting, 1, kSliceMs) == 0) {
            *why = deadline->check(peer);
            if (!why->ok() || Clock::now() - start > std::chrono::milliseconds(kConnectMs))
                return false;
        }
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) {
            errno = error;
            return false;
        }
    }
    tune(fd.get());
    *out = std::move(fd);
    return true;
}

template <class Transfer>
Status transfer_all(int fd, size_t bytes, short event, Deadline *deadline, int peer,
                    Transfer transfer) {
    for (size_t done = 0; done < bytes;) {
        ssize_t moved = transfer(done);
        if (moved > 0) {
            done += size_t(moved);
            continue;
        }
        if (moved == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
            return {RINGRT_PEER_LOST,
                    format_text("connection to rank %d ended during %s: %s", peer,
                                deadline->phase(), moved == 0 ? "closed" : strerror(errno))};
        }
        pollfd waiting{.fd = fd, .events = event, .revents = 0};
        if (poll(&waiting, 1, deadline->slice_ms()) <= 0) RINGRT_TRY(deadline->check(peer));
    }
    return {};
}

}  // namespace

void Fd::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

std::vector<std::string> own_addresses() {
    if (const char *fixed = getenv("RINGRT_ADDRESS"); fixed != nullptr && *fixed != 0)
        return {fixed};
    const char *interface = getenv("RINGRT_INTERFACE");
    std::vector<std::string> out, loopback;
    ifaddrs *all = nullptr;
    if (getifaddrs(&all) != 0) return {"127.0.0.1"};
    for (const ifaddrs *each = all; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
        if (interface != nullptr && *interface != 0 && strcmp(interface, each->ifa_name) != 0)
            continue;
        std::string text = numeric(each->ifa_addr);
        if (text.empty()) continue;
        ((each->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : out).push_back(text);
    }
    freeifaddrs(all);
    constexpr size_t kMost = 12;  // the number that fits in one start-up message
    if (out.size() > kMost) out.resize(kMost);
    out.insert(out.end(), loopback.begin(), loopback.begin() + (loopback.empty() ? 0 : 1));
    return out;
}

std::string join_addresses(const std::vector<std::string> &addresses, size_t most) {
    std::string text;
    for (const std::string &each : addresses)
        if (text.size() + each.size() + 2 < most) text += each + " ";
    return text;
}

std::vector<std::string> split_addresses(const std::string &text) {
    std::vector<std::string> addresses;
    for (size_t at = 0, end; (end = text.find(' ', at)) != text.npos; at = end + 1)
        addresses.push_back(text.substr(at, end - at));
    return addresses;
}

Status listen_on(int *port, Fd *out) {
    for (int family : {AF_INET6, AF_INET}) {
        Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!fd.valid()) continue;
        int yes = 1, no = 0;
        setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        sockaddr_storage address{};
        socklen_t length = sizeof(sockaddr_in);
        if (family == AF_INET6) {
            setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
            auto &v6 = reinterpret_cast<sockaddr_in6 &>(address);
            v6 = {.sin6_family = AF_INET6, .sin6_port = htons(uint16_t(*port))};
            length = sizeof v6;
        } else {
            auto &v4 = reinterpret_cast<sockaddr_in &>(address);
            v4 = {.sin_family = AF_INET, .sin_port = htons(uint16_t(*port))};
        }
        if (bind(fd.get(), reinterpret_cast<sockaddr *>(&address), length) != 0) continue;
        if (listen(fd.get(), SOMAXCONN) != 0) continue;  // thousands of ranks come to rank 0
        if (getsockname(fd.get(), reinterpret_cast<sockaddr *>(&address), &length) != 0) continue;
        *port = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                         : reinterpret_cast<sockaddr_in &>(address).sin_port);
        *out = std::move(fd);
        return {};
    }
    return {RINGRT_SYSTEM_ERROR,
            format_text("cannot listen on TCP port %d: %s", *port, strerror(errno))};
}

Status connect_to(const Endpoint &endpoint, Deadline *deadline, int peer, Fd *out) {
    Status why;
    int error = ECONNREFUSED;
    for (const std::string &address : endpoint.addresses) {
        addrinfo hints{
            .ai_flags = AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
        addrinfo *targets = nullptr;
        std::string port = std::to_string(endpoint.port);
        if (getaddrinfo(address.c_str(), port.c_str(), &hints, &targets) != 0) continue;
        bool connected = false;
        for (const addrinfo *each = targets; each != nullptr && !connected && why.ok();
             each = each->ai_next) {
            connected = connect_once(*each, deadline, peer, &why, out);
            if (!connected) error = errno;
        }
        freeaddrinfo(targets);
        if (connected) return {};
        if (!why.ok()) return why;
    }
    return {RINGRT_SYSTEM_ERROR,
            format_text("cannot connect to rank %d at %s port %d: %s", peer,
                        endpoint.addresses.empty() ? "(no address)" : endpoint.addresses[0].c_str(),
                        endpoint.port, strerror(error))};
}

int begin_connect(const std::string &address, int port, Fd *out) {
    addrinfo hints{.ai_flags = AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    addrinfo *found = nullptr;
    if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
        return EADDRNOTAVAIL;
    Fd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int error = 0;
    if (!fd.valid() || connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0)
        error = errno == EINPROGRESS ? 0 : errno;
    freeaddrinfo(found);
    if (error == 0) *out = std::move(fd);
    return error;
}

static bool is_to_this_host(int fd) {
    sockaddr_storage here{}, there{};
    auto *ours = reinterpret_cast<sockaddr *>(&here), *peers = reinterpret_cast<sockaddr *>(&there);
    socklen_t ours_size = sizeof here, peers_size = sizeof there;
    return getsockname(fd, ours, &ours_size) == 0 && getpeername(fd, peers, &peers_size) == 0 &&
           !numeric(ours).empty() && numeric(ours) == numeric(peers);
}

void tune(int fd, std::chrono::seconds host_lost) {
    int yes = 1, idle_s = 5, interval_s = 3;
    // This host cannot have vanished, so silence says that it is busy. The probes find a process
    // that ended while its last packet was lost. They are rare, because all of them come to this
    // host: many ranks on a few cores would have less time for anything else.
    if (is_to_this_host(fd)) {
        host_lost = kThisHostSilent;
        idle_s = interval_s = 30;
    }
    int probes = (int(host_lost.count()) - idle_s) / interval_s;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

Status read_all(int fd, std::span<std::byte> data, Deadline *deadline, int peer) {
    return transfer_all(fd, data.size(), POLLIN, deadline, peer, [&](size_t done) {
        return recv(fd, data.data() + done, data.size() - done, 0);
    });
}

Status write_all(int fd, std::span<const std::byte> data, Deadline *deadline, int peer) {
    return transfer_all(fd, data.size(), POLLOUT, deadline, peer, [&](size_t done) {
        return send(fd, data.data() + done, data.size() - done, MSG_NOSIGNAL);
    });
}

}  // namespace ringrt
