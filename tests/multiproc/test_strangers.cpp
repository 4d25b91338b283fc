// SPDX-License-Identifier: BSD-3-Clause
// Unauthenticated peers at the port where ranks meet send garbage and recorded messages. Training
// continues.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

#include "tests/multiproc/training.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

// The port that the rendezvous file names, or 0 if there is none.
int rendezvous_port(const std::string &path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("port=")) return std::stoi(line.substr(5));
    }
    return 0;
}

int connect_to_port(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_port = htons(uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

int start_and_train(CommunicatorConfig config) {
    config.warn = [](const std::string &) {};
    Communicator comm(std::move(config));
    if (comm.start() != RINGRT_OK) return explain(kNotStarted, comm, "not started");
    bool sums_right = true;
    ringrt_status_t status = train(comm, 1000, 5, &sums_right);
    return status == RINGRT_OK && sums_right ? int(kAsExpected) : explain(kWrongSum, comm, "sum");
}

TEST(garbage_at_the_acceptor_does_no_harm) {  // F45
    TemporaryDirectory directory;
    Layout layout{3, 1};
    auto rank_body = [&](int rank) {
        if (rank == 2) wait_ms(1500);  // time for the unauthenticated peers
        return start_and_train(config_of(directory, layout, rank));
    };
    Ranks ranks(layout.ranks, rank_body);
    int port = 0;
    for (int i = 0; i < 100 && port == 0; ++i)
        wait_ms(10), port = rendezvous_port(directory.path + "/meet");
    ck_assert_int_gt(port, 0);
    std::mt19937 random(45);
    std::vector<int> slow;
    for (int i = 0; i < 300; ++i) {
        int fd = connect_to_port(port);
        if (fd < 0) continue;
        std::vector<unsigned char> bytes(random() % 200);
        for (unsigned char &b : bytes) b = static_cast<unsigned char>(random());
        // Some send the magic, then a hello with a wrong MAC. Some send little and stay connected.
        if (i % 3 == 0 && bytes.size() > 8) memcpy(bytes.data(), "ringrt/2", 8);
        (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (i % 3 == 1) slow.push_back(fd);
        if (i % 3 != 1) close(fd);
    }
    expect_all(ranks, layout, -1, 20);
    for (int fd : slow) close(fd);
}

int listen_anywhere(int *port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    bool made = bind(fd, reinterpret_cast<sockaddr *>(&address), bytes) == 0 &&
                listen(fd, 8) == 0 &&
                getsockname(fd, reinterpret_cast<sockaddr *>(&address), &bytes) == 0;
    ck_assert(made);
    *port = ntohs(address.sin_port);
    return fd;
}

// Passes bytes both ways until an end closes, and records what `from` sent first.
class Relay {
  public:
    Relay(int from, int to) : from_(from), to_(to), thread_([this] { run(); }) {}
    ~Relay() {
        shutdown(from_, SHUT_RDWR), shutdown(to_, SHUT_RDWR);
        thread_.join();
        close(from_), close(to_);
    }
    std::vector<char> heard() {
        std::lock_guard lock(mutex_);
        return heard_;
    }

  private:
    bool pass(int in, int out, bool keep) {
        char bytes[4096];
        ssize_t got = recv(in, bytes, sizeof bytes, 0);
        if (got <= 0) return false;
        std::lock_guard lock(mutex_);
        if (keep) heard_.insert(heard_.end(), bytes, bytes + got);
        return send(out, bytes, size_t(got), MSG_NOSIGNAL) == got;
    }
    void run() {
        pollfd ends[] = {{from_, POLLIN, 0}, {to_, POLLIN, 0}};
        while (poll(ends, 2, -1) >= 0) {
            if (ends[0].revents != 0 && !pass(from_, to_, true)) break;
            if (ends[1].revents != 0 && !pass(to_, from_, false)) break;
        }
        shutdown(from_, SHUT_RDWR), shutdown(to_, SHUT_RDWR);
    }
    int from_, to_;
    std::mutex mutex_;
    std::vector<char> heard_;
    std::thread thread_;
};

// Rank 1 connects to rank 0 through a relay, which replays rank 1's messages.
TEST(a_replayed_hello_is_dropped) {  // F45
    setenv("RINGRT_SECRET", "00112233445566778899aabbccddeeff", 1);
    TemporaryDirectory directory;
    int hub = 0, acceptor = 0, relay_fd = listen_anywhere(&acceptor);
    close(listen_anywhere(&hub));  // free a moment ago
    std::string replayed = directory.path + "/replayed";
    Ranks ranks(3, [&](int rank) {
        for (int i = 0; rank == 2 && i < 6000 && !std::filesystem::exists(replayed); ++i)
            wait_ms(10);
        CommunicatorConfig config = config_of(directory, {3, 1}, rank);
        config.rendezvous = "tcp:127.0.0.1:" + std::to_string(rank == 1 ? acceptor : hub);
        config.start_timeout_ms = 100000;
        return start_and_train(std::move(config));
    });
    int from = accept(relay_fd, nullptr, nullptr), to = -1;
    for (int i = 0; i < 2000 && to < 0; ++i) wait_ms(5), to = connect_to_port(hub);
    ck_assert(from >= 0 && to >= 0);
    Relay relay(from, to);
    size_t said = 0;
    for (int i = 0; i < 100 && (said == 0 || relay.heard().size() > said); ++i)
        said = relay.heard().size(), wait_ms(300);
    std::vector<char> hello = relay.heard();
    ck_assert_int_gt(int(hello.size()), 16);
    int again = connect_to_port(hub);
    ck_assert_int_ge(again, 0);
    timeval deadline{.tv_sec = 60, .tv_usec = 0};
    setsockopt(again, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
    (void)!send(again, hello.data(), hello.size(), MSG_NOSIGNAL);
    char answer[4096];
    ssize_t got = 1;
    while (got > 0) got = recv(again, answer, sizeof answer, 0);
    ck_assert_msg(got == 0 || errno == ECONNRESET, "the replay was let in: %s", strerror(errno));
    close(again), close(relay_fd);
    std::ofstream(replayed) << "yes";
    expect_all(ranks, {3, 1}, -1, 30);
}

}  // namespace

int main() { return run_all("strangers", 180); }
