// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/ringrtd/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "slurm_plugin/records/fields.h"
#include "slurm_plugin/slurm/host/metrics.h"

namespace ringrt::slurm {
namespace {

using Clock = std::chrono::steady_clock;

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

std::optional<Address> loopback_address(const std::string &text) {
    const std::size_t colon = text.rfind(':');
    int port = 0;
    if (colon == std::string::npos ||
        !records::read_into(std::string_view(text).substr(colon + 1), 1, 65535, port))
        return std::nullopt;
    const std::string host = text.substr(0, colon);
    Address out;
    in_addr four{};
    if (inet_pton(AF_INET, host.c_str(), &four) == 1 && ntohl(four.s_addr) >> 24 == 127) {
        auto *address = reinterpret_cast<sockaddr_in *>(&out.storage);
        address->sin_family = AF_INET;
        address->sin_port = htons(static_cast<uint16_t>(port));
        address->sin_addr = four;
        out.length = sizeof *address;
        return out;
    }
    if (host != "[::1]") return std::nullopt;
    auto *address = reinterpret_cast<sockaddr_in6 *>(&out.storage);
    address->sin6_family = AF_INET6;
    address->sin6_port = htons(static_cast<uint16_t>(port));
    address->sin6_addr = in6addr_loopback;
    out.length = sizeof *address;
    return out;
}

std::string response(std::string_view status, std::string_view type, std::string_view body) {
    return "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
           std::string(body);
}

// Waits until the file is ready. False: the time is over.
bool wait_for(int file, short what, Clock::time_point until) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd one{.fd = file, .events = what, .revents = 0};
    return left.count() > 0 && poll(&one, 1, static_cast<int>(left.count())) > 0;
}

}  // namespace

std::string answer_request(std::string_view request, std::string_view metrics) {
    constexpr std::string_view kPlain = "text/plain; charset=utf-8";
    if (request.find("\r\n\r\n") == std::string_view::npos &&
        request.find("\n\n") == std::string_view::npos)
        return request.size() < kRequestBytesMax
                   ? std::string()
                   : response("431 Request Header Fields Too Large", kPlain, "too long\n");
    const std::string_view line = request.substr(0, request.find_first_of("\r\n"));
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos ||
        !line.substr(second + 1).starts_with("HTTP/1."))
        return response("400 Bad Request", kPlain, "not a request\n");
    const std::string_view path = line.substr(first + 1, second - first - 1);
    if (line.substr(0, first) != "GET")
        return response("405 Method Not Allowed", kPlain, "GET only\n");
    if (path != "/metrics") return response("404 Not Found", kPlain, "see /metrics\n");
    if (metrics.empty()) return response("503 Service Unavailable", kPlain, "on standby\n");
    return response("200 OK", kOpenMetricsContentType, metrics);
}

MetricsServer::~MetricsServer() {
    if (listener_ < 0) return;
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
}

bool MetricsServer::start(const std::string &text, std::string *error) {
    const auto address = loopback_address(text);
    if (!address) {
        *error = "--metrics: expected a loopback address, for example 127.0.0.1:9820, got \"" +
                 text + "\"";
        return false;
    }
    listener_ = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (listener_ >= 0) setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listener_ < 0 ||
        bind(listener_, reinterpret_cast<const sockaddr *>(&address->storage), address->length) !=
            0 ||
        listen(listener_, 8) != 0) {
        *error = "cannot listen on " + text + ": " + std::strerror(errno);
        if (listener_ >= 0) close(std::exchange(listener_, -1));
        return false;
    }
    thread_ = std::thread([this] { serve(); });
    return true;
}

void MetricsServer::set_text(std::string metrics) {
    const std::scoped_lock lock(mutex_);
    metrics_ = std::move(metrics);
}

void MetricsServer::serve() {
    while (!stopping_) {
        pollfd one{.fd = listener_, .events = POLLIN, .revents = 0};
        if (poll(&one, 1, 500) <= 0) continue;
        const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0) {
            if (!stopping_) std::this_thread::sleep_for(std::chrono::milliseconds(50));
            continue;
        }
        serve_one(client);
        close(client);
    }
}

void MetricsServer::serve_one(int client) {
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(kRequestSeconds));
    std::array<char, kRequestBytesMax> request{};
    std::size_t length = 0;
    std::string answer;
    while (answer.empty()) {
        if (!wait_for(client, POLLIN, until)) return;
        const ssize_t got = recv(client, request.data() + length, request.size() - length, 0);
        if (got <= 0) return;
        length += static_cast<std::size_t>(got);
        const std::scoped_lock lock(mutex_);
        answer = answer_request({request.data(), length}, metrics_);
    }
    for (std::size_t sent = 0; sent < answer.size();) {
        if (!wait_for(client, POLLOUT, until)) return;
        const ssize_t now = send(client, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (now <= 0) return;
        sent += static_cast<std::size_t>(now);
    }
    shutdown(client, SHUT_WR);
}

}  // namespace ringrt::slurm
