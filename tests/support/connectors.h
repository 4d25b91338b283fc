// SPDX-License-Identifier: BSD-3-Clause
// Connectors of several ranks in one process, peers that a test plays by hand, and a network that
// is slow.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "libringrt/bootstrap/connect.h"
#include "tests/support/check.h"

namespace ringrt::test {

inline constexpr Secret kSecret{std::byte{7}};
inline constexpr Secret kOtherSecret{std::byte{8}};

// The ranks of one world in this process, each with its port.
struct ConnectorWorld {
    std::vector<RankContext> selves;
    std::vector<Endpoint> endpoints;  // where the others connect to
    std::vector<Fd> listeners;

    explicit ConnectorWorld(int size) : selves(size_t(size)), endpoints(size_t(size)) {
        for (int r = 0; r < size; ++r) {
            selves[size_t(r)].rank = r, selves[size_t(r)].size = size;
            selves[size_t(r)].warn = [](const std::string &) {};
            endpoints[size_t(r)].addresses = {"127.0.0.1"};
            listeners.emplace_back();
            ck_assert(listen_on(&endpoints[size_t(r)].port, &listeners.back()).ok());
        }
    }
    std::unique_ptr<Connector> connector(int rank, const ConnectTimes &times = {}) {
        return std::make_unique<Connector>(
            selves[size_t(rank)], [this](int peer) { return endpoints[size_t(peer)]; },
            std::move(listeners[size_t(rank)]), kSecret, times);
    }
};

inline bool are_ends_of_one_connection(const Fd &a, const Fd &b) {
    char byte = 0;
    if (send(a.get(), "x", 1, MSG_NOSIGNAL) != 1) return false;
    pollfd comes{.fd = b.get(), .events = POLLIN, .revents = 0};
    return poll(&comes, 1, 5000) == 1 && recv(b.get(), &byte, 1, 0) == 1 && byte == 'x';
}

inline void receive_whole(int fd, std::span<std::byte> message) {
    for (size_t done = 0; done < message.size();) {
        const ssize_t got = recv(fd, message.data() + done, message.size() - done, 0);
        ck_assert_int_gt(got, 0);
        done += size_t(got);
    }
}

// A connection to a port that the test serves by hand, up to the answer.
struct Visit {
    Fd fd;
    Nonce nonce{};
    Hello hello{};

    [[nodiscard]] Mac mac(Answer which, const Secret &secret = kSecret) const {
        return make_answer(which, secret, hello, nonce);
    }
    void say(std::span<const std::byte> bytes) const {
        ck_assert_int_eq(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                         ssize_t(bytes.size()));
    }
    void say(Answer which) const { say(mac(which)); }
};

// Waits for the next one, which must send a hello.
inline Visit next_visit(const Fd &listener, const Nonce *nonce = nullptr) {
    Visit visit;
    pollfd comes{.fd = listener.get(), .events = POLLIN, .revents = 0};
    ck_assert_int_eq(poll(&comes, 1, 30'000), 1);
    visit.fd = Fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ck_assert(visit.fd.valid() && make_random(visit.nonce).ok());
    if (nonce != nullptr) visit.nonce = *nonce;
    const Greeting greeting = make_greeting(visit.nonce);
    visit.say(std::as_bytes(std::span(&greeting, 1)));
    receive_whole(visit.fd.get(), message_bytes(visit.hello));
    return visit;
}

// Drives a rank's connector in a thread until it has the result for one peer, or stop_.
class Driven {
  public:
    Driven(std::unique_ptr<Connector> connector, int peer)
        : connector_(std::move(connector)), thread_([this, peer] { run(peer); }) {}
    ~Driven() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }
    Driven(const Driven &) = delete;
    Driven &operator=(const Driven &) = delete;
    [[nodiscard]] bool ended() const { return ended_; }
    // Waits for it.
    const Connections::Made &result() {
        if (thread_.joinable()) thread_.join();
        ck_assert_uint_eq(made_.size(), 1);
        return made_[0];
    }
    // Ends as a rank that is aborted does.
    void abandon() {
        stop_ = true;
        thread_.join();
        connector_.reset();
    }

  private:
    void run(int peer) {
        connector_->want(peer);
        while (made_.empty() && !stop_) {
            ck_assert(connector_->progress(&made_).ok());
            std::vector<pollfd> polled;
            connector_->add_to(&polled);
            poll(polled.data(), polled.size(), 2);
        }
        ended_ = true;
    }
    std::unique_ptr<Connector> connector_;
    std::vector<Connections::Made> made_;
    std::atomic<bool> stop_ = false, ended_ = false;
    std::thread thread_;
};

// A port that passes each connection on to another port. `delay` is called in several threads,
// before each piece that is passed on, and before an end.
class SlowPort {
  public:
    using Delay = std::function<void()>;
    SlowPort(int to, Delay delay) : to_(to), delay_(std::move(delay)) {
        ck_assert(listen_on(&port_, &listener_).ok());
        acceptor_ = std::thread([this] { accept_all(); });
    }
    ~SlowPort() {
        stop_ = true;
        acceptor_.join();
        for (std::thread &each : relays_) each.join();
    }
    SlowPort(const SlowPort &) = delete;
    SlowPort &operator=(const SlowPort &) = delete;
    [[nodiscard]] int port() const { return port_; }

  private:
    void accept_all() {
        while (!stop_) {
            pollfd comes{.fd = listener_.get(), .events = POLLIN, .revents = 0};
            if (poll(&comes, 1, 5) <= 0) continue;
            const int from = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
            if (from >= 0) relays_.emplace_back([this, from] { relay(Fd(from)); });
        }
    }
    void relay(Fd from) const {
        Fd to;
        if (begin_connect("127.0.0.1", to_, &to) != 0) return;
        const int ends[2] = {from.get(), to.get()};
        while (!stop_) {
            pollfd polled[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
            if (poll(polled, 2, 5) <= 0) continue;
            for (int i : {0, 1}) {
                char bytes[4096];
                if (polled[i].revents == 0) continue;
                const ssize_t got = recv(ends[i], bytes, sizeof bytes, MSG_DONTWAIT);
                if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
                delay_();
                if (got <= 0 || send(ends[1 - i], bytes, size_t(got), MSG_NOSIGNAL) != got) return;
            }
        }
    }
    const int to_;
    const Delay delay_;
    int port_ = 0;
    Fd listener_;
    std::atomic<bool> stop_ = false;
    std::thread acceptor_;
    std::vector<std::thread> relays_;
};

}  // namespace ringrt::test
