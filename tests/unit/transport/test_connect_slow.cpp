// SPDX-License-Identifier: BSD-3-Clause
// Two ranks begin to connect to each other, and one of them, or the network, is slower than the
// time after which a dead peer is given up. "Slow" below is rank 1, the higher of the two: it
// refuses rank 0 and says that its own connection comes.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>

#include <random>

#include "libringrt/base/closed_in_children.h"
#include "tests/support/connectors.h"
#include "tests/support/ranks.h"

using namespace ringrt;
using namespace ringrt::test;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kRetryFor(60);
constexpr ConnectTimes kImpatient{.retry_for = kRetryFor, .pause = milliseconds(2)};

void wait_long() { std::this_thread::sleep_for(8 * kRetryFor); }

bool waits_at(const Fd &listener) {
    pollfd comes{.fd = listener.get(), .events = POLLIN, .revents = 0};
    return poll(&comes, 1, 0) > 0;
}

void expect_lost(Driven &rank, const char *why) {
    const Connections::Made &made = rank.result();
    ck_assert(!made.fd.valid());
    ck_assert_msg(made.why.find(why) != std::string::npos, "%s", made.why.c_str());
}

// The connection that rank 1 has promised, to rank 0's port.
Fd connect_as_rank_1(const ConnectorWorld &world) {
    Fd fd;
    Deadline deadline(world.selves[1], "test");
    ck_assert(connect_to(world.endpoints[0], &deadline, 0, &fd).ok());
    ck_assert(
        connect_handshake(fd.get(), kSecret, Purpose::Data, world.selves[1], 0, milliseconds(60000))
            .ok());
    return fd;
}

TEST(a_slow_peer_has_more_time_than_a_dead_one) {
    ConnectorWorld world(2);
    Driven zero(world.connector(0, kImpatient), 1);
    const Visit refused = next_visit(world.listeners[1]);
    refused.say(Answer::comes);
    wait_long();
    ck_assert(!zero.ended());
    ck_assert(!waits_at(world.listeners[1]));  // it waits, and does not try again
    const Fd ours = connect_as_rank_1(world);
    const Connections::Made &made = zero.result();
    ck_assert_msg(made.fd.valid(), "%s", made.why.c_str());
    ck_assert(are_ends_of_one_connection(ours, made.fd));
    ck_assert(are_ends_of_one_connection(made.fd, ours));
}

TEST(a_refusal_without_an_answer_is_retried_for_a_short_time) {
    ConnectorWorld world(2);
    Driven zero(world.connector(0, kImpatient), 1);
    while (!zero.ended())
        if (waits_at(world.listeners[1])) next_visit(world.listeners[1]);
    expect_lost(zero, "it refused a connection");
}

// Each answer shows that the peer lives. After the last one it has the short time again.
TEST(an_answer_restarts_the_time) {
    ConnectorWorld world(2);
    Driven zero(world.connector(0, kImpatient), 1);
    for (int i = 0; i < 10; ++i) {
        next_visit(world.listeners[1]);  // refused without an answer
        const Visit refused = next_visit(world.listeners[1]);
        std::this_thread::sleep_for(kRetryFor / 4);
        refused.say(Answer::comes);
    }
    while (!zero.ended())
        if (waits_at(world.listeners[1])) next_visit(world.listeners[1]);
    expect_lost(zero, "it refused a connection");
}

// The kernel drops a packet that opens a connection to a port with too many that wait.
TEST(a_network_that_drops_packets_has_more_time_than_a_dead_peer) {
    for (const bool recovers : {true, false}) {
        ConnectorWorld world(2);
        const Endpoint &busy = world.endpoints[1];
        ck_assert_int_eq(listen(world.listeners[1].get(), 0), 0);
        Fd fill[3];
        for (Fd &each : fill)
            ck_assert_int_eq(begin_connect(busy.addresses[0], busy.port, &each), 0);
        ConnectTimes times = kImpatient;
        times.address_within = milliseconds(10);
        if (!recovers) times.silent_for = 2 * kRetryFor;
        Driven zero(world.connector(0, times), 1);
        if (!recovers) {
            expect_lost(zero, "timed out");
            continue;
        }
        wait_long();
        ck_assert(!zero.ended());
        const std::unique_ptr<Connector> one = world.connector(1);
        std::vector<Connections::Made> made;
        while (!zero.ended() || made.empty()) ck_assert(one->progress(&made).ok());
        ck_assert_msg(zero.result().fd.valid(), "%s", zero.result().why.c_str());
        ck_assert(are_ends_of_one_connection(zero.result().fd, made[0].fd));
    }
}

TEST(a_peer_that_ends_after_its_answer_is_unreachable) {
    ConnectorWorld world(2);
    Driven zero(world.connector(0), 1);  // with the usual times: it must not need them
    Visit refused = next_visit(world.listeners[1]);
    refused.say(Answer::comes);
    world.listeners[1] = Fd();
    refused.fd = Fd();
    expect_lost(zero, "Connection refused");
}

TEST(a_damaged_answer_is_not_believed) {
    for (size_t bit = 0; bit < 8 * sizeof(Mac); bit += 5) {
        ConnectorWorld world(2);
        Driven zero(world.connector(0, kImpatient), 1);
        const Visit refused = next_visit(world.listeners[1]);
        Mac mac = refused.mac(Answer::comes);
        mac[bit / 8] ^= std::byte(1U << bit % 8);
        refused.say(mac);
        expect_lost(zero, "does not have this job's secret");
    }
}

TEST(an_answer_that_breaks_off_is_a_refusal) {
    for (size_t bytes = 0; bytes < sizeof(Mac); bytes += 3) {
        ConnectorWorld world(2);
        Driven zero(world.connector(0, kImpatient), 1);
        {
            const Visit refused = next_visit(world.listeners[1]);
            const Mac mac = refused.mac(Answer::comes);
            refused.say(std::span(mac).first(bytes));
        }
        next_visit(world.listeners[1]).say(Answer::accepted);
        ck_assert(zero.result().fd.valid());
    }
}

// Without the secret nobody can make a rank wait: not by a guess, nor by an answer that another
// connection got, even in reply to the same greeting.
TEST(a_forged_or_recorded_answer_is_not_believed) {
    for (const bool recorded : {false, true}) {
        ConnectorWorld world(2);
        Driven zero(world.connector(0, kImpatient), 1);
        Mac first;
        Nonce nonce;
        {
            const Visit refused = next_visit(world.listeners[1]);
            first = refused.mac(Answer::comes);
            nonce = refused.nonce;
        }
        const Visit again = next_visit(world.listeners[1], &nonce);
        again.say(recorded ? first : again.mac(Answer::comes, kOtherSecret));
        expect_lost(zero, "does not have this job's secret");
    }
}

// Rank 1 is a connector whose connections to rank 0 pass a slow network. So rank 0 gets its answer,
// and waits for a connection that is held up.
struct HeldUp {
    ConnectorWorld world{2};
    std::atomic<bool> released = false;
    std::atomic<int> pieces = 0;  // 2: the greeting and the hello, which is held up
    SlowPort slow{world.endpoints[0].port, [this] {
                      if (++pieces >= 2)
                          while (!released) std::this_thread::sleep_for(milliseconds(1));
                  }};
    HeldUp() { world.endpoints[0].port = slow.port(); }
    ~HeldUp() { released = true; }
};

TEST(a_hello_that_is_held_up_arrives) {
    HeldUp held;
    std::atomic<int> said = 0;  // 3: the greeting, the hello and the answer of one connection
    const SlowPort counted(held.world.endpoints[1].port, [&] { ++said; });
    held.world.endpoints[1].port = counted.port();
    Driven one(held.world.connector(1, kImpatient), 0);
    std::unique_ptr<Connector> served = held.world.connector(0, kImpatient);
    std::vector<Connections::Made> made;
    while (held.pieces < 2) ck_assert(served->progress(&made).ok());  // it greets
    Driven zero(std::move(served), 1);
    wait_long();
    ck_assert(!zero.ended() && !one.ended());
    ck_assert_int_eq(said, 3);  // it waits, and does not try again
    held.released = true;
    ck_assert_msg(zero.result().fd.valid(), "%s", zero.result().why.c_str());
    ck_assert(one.result().fd.valid());
    ck_assert(are_ends_of_one_connection(zero.result().fd, one.result().fd));
}

int option(int fd, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, name, &value, &length), 0);
    return value;
}

// After how many seconds the kernel ends a connection whose other host is silent.
int host_lost_s(int fd) {
    return option(fd, TCP_KEEPIDLE) + option(fd, TCP_KEEPINTVL) * option(fd, TCP_KEEPCNT);
}

// If the kernel ended it after the hello, this rank would try again, and the peer, which then reads
// the hello, would keep the dead connection: each would see the other close the one it holds.
TEST(a_connection_outlasts_a_gap_of_the_network_until_it_is_answered) {
    ConnectorWorld world(2);
    const auto one = world.connector(1);
    std::vector<Connections::Made> made;
    one->want(0);
    std::atomic<bool> came = false;
    Visit visit;
    std::thread zero([&] { visit = next_visit(world.listeners[0]), came = true; });
    while (!came) ck_assert(one->progress(&made).ok());
    zero.join();
    std::vector<pollfd> polled;
    one->add_to(&polled);
    ck_assert_uint_eq(polled.size(), 2);  // its port, and the connection
    ck_assert_int_ge(host_lost_s(polled[1].fd), int(kHostLostUnanswered.count()) - 3);
    visit.say(Answer::accepted);
    while (made.empty()) ck_assert(one->progress(&made).ok());
    ck_assert(made[0].fd.valid());
    ck_assert_int_ge(host_lost_s(made[0].fd.get()), int(kThisHostSilent.count()) - 3);
}

// Between two addresses of loopback, in place of two hosts.
TEST(only_another_host_can_vanish_soon) {
    for (const bool same : {true, false}) {
        int port = 0;
        Fd listener, from(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ck_assert(listen_on(&port, &listener).ok());
        sockaddr_in ours{.sin_family = AF_INET}, peers = ours;
        ours.sin_addr.s_addr = htonl(same ? INADDR_LOOPBACK : INADDR_LOOPBACK + 1);
        peers.sin_addr.s_addr = htonl(INADDR_LOOPBACK), peers.sin_port = htons(uint16_t(port));
        ck_assert_int_eq(bind(from.get(), reinterpret_cast<sockaddr *>(&ours), sizeof ours), 0);
        ck_assert_int_eq(connect(from.get(), reinterpret_cast<sockaddr *>(&peers), sizeof peers),
                         0);
        tune(from.get());
        const Fd to(accept(listener.get(), nullptr, nullptr));
        tune(to.get());  // perhaps an IPv6 socket, with an IPv4 address in it
        const auto expected = same ? kThisHostSilent : kHostLost;
        for (const int fd : {from.get(), to.get()}) {
            ck_assert_int_le(host_lost_s(fd), int(expected.count()));
            ck_assert_int_gt(host_lost_s(fd), int(expected.count()) - 3);
            // Thousands of idle connections of one host would keep it busy with probes.
            ck_assert((option(fd, TCP_KEEPIDLE) >= 30) == same);
        }
    }
}

TEST(a_peer_that_is_aborted_after_its_answer_is_unreachable) {
    HeldUp held;
    Driven one(held.world.connector(1), 0);
    std::unique_ptr<Connector> served = held.world.connector(0);
    std::vector<Connections::Made> made;
    while (held.pieces < 2) ck_assert(served->progress(&made).ok());
    Driven zero(std::move(served), 1);
    wait_long();
    ck_assert(!zero.ended());
    one.abandon();
    expect_lost(zero, "Connection refused");
}

// Also if a child that it has forked lives on, such as a data loader's worker.
TEST(a_peer_that_is_killed_after_its_answer_is_unreachable) {
    for (const bool has_child : {false, true}) {
        ConnectorWorld world(2);
        const Fd slow = std::move(world.listeners[0]);  // greets, and says no more
        auto *child = static_cast<std::atomic<pid_t> *>(mmap(
            nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        Ranks one(1, [&](int) {
            std::unique_ptr<Connector> connector = world.connector(1);
            const ClosedInChildren closed_in_children({connector->listener()});
            connector->want(0);
            std::vector<Connections::Made> made;
            for (auto fork_at = Clock::now() + 8 * kRetryFor;;) {
                ck_assert(connector->progress(&made).ok() && made.empty());
                std::this_thread::sleep_for(milliseconds(1));
                if (!has_child || *child != 0 || Clock::now() < fork_at) continue;
                const pid_t pid = fork();
                if (pid == 0) {
                    pause();
                    _exit(0);
                }
                *child = pid;
            }
            return 0;
        });
        world.listeners[1] = Fd();
        const Visit insists = next_visit(slow);
        world.endpoints[0].port = 0;
        ck_assert(listen_on(&world.endpoints[0].port, &world.listeners[0]).ok());
        Driven zero(world.connector(0), 1);
        wait_long();
        while (has_child && *child == 0) std::this_thread::sleep_for(milliseconds(1));
        ck_assert(!zero.ended());
        one.signal(0, SIGKILL);
        expect_lost(zero, "Connection refused");
        if (has_child) kill(*child, SIGKILL);
    }
}

// All ranks connect to all others at once. Most messages pass at once, and some are late by up to
// twenty times the time for a dead peer. (It is so short that two tries use it up.)
TEST(all_pairs_connect_over_a_slow_network) {
    constexpr int kRanks = 12;
    ConnectTimes times = kImpatient;
    times.retry_for = milliseconds(10);
    ConnectorWorld world(kRanks);
    std::atomic<bool> fast = false;
    std::atomic<unsigned> seed = 0;
    const SlowPort::Delay delay = [&] {
        std::mt19937 random(++seed);
        if (!fast && random() % 5 == 0) std::this_thread::sleep_for(milliseconds(random() % 200));
    };
    std::vector<std::unique_ptr<SlowPort>> ports;
    for (Endpoint &each : world.endpoints) {
        ports.push_back(std::make_unique<SlowPort>(each.port, delay));
        each.port = ports.back()->port();
    }
    std::vector<std::vector<Connections::Made>> made(kRanks);
    std::atomic<int> count = 0;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([&, rank] {
            const std::unique_ptr<Connector> connector = world.connector(rank, times);
            for (int peer = 0; peer < kRanks; ++peer)
                if (peer != rank) connector->want(peer);
            auto &mine = made[size_t(rank)];
            for (size_t before = 0; count < kRanks * (kRanks - 1);) {
                ck_assert(connector->progress(&mine).ok());
                count += int(mine.size() - before);
                before = mine.size();
                std::this_thread::sleep_for(milliseconds(1));
            }
        });
    }
    for (std::thread &each : threads) each.join();
    fast = true;
    std::vector<std::vector<const Fd *>> to(kRanks, std::vector<const Fd *>(kRanks));
    for (size_t rank = 0; rank < kRanks; ++rank)
        for (const Connections::Made &each : made[rank]) {
            ck_assert_msg(each.fd.valid(), "%s", each.why.c_str());
            to[rank][size_t(each.peer)] = &each.fd;
        }
    for (size_t a = 0; a < kRanks; ++a)
        for (size_t b = 0; b < kRanks; ++b)
            if (a != b) ck_assert(are_ends_of_one_connection(*to[a][b], *to[b][a]));
}

TEST(a_stranger_that_says_nothing_is_dropped) {
    ConnectorWorld world(2);
    ConnectTimes times;
    times.hello_within = milliseconds(30);
    std::unique_ptr<Connector> zero = world.connector(0, times);
    Fd stranger;
    ck_assert_int_eq(begin_connect("127.0.0.1", world.endpoints[0].port, &stranger), 0);
    Greeting greeting{};
    std::vector<Connections::Made> made;
    ssize_t got = -1;
    while (got != 0) {
        ck_assert(zero->progress(&made).ok());
        got = recv(stranger.get(), &greeting, sizeof greeting, MSG_DONTWAIT);
    }
    ck_assert(made.empty());
}

}  // namespace

int main() { return run_all("connect_slow"); }
