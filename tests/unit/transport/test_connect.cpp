// SPDX-License-Identifier: BSD-3-Clause
// How two ranks connect when they first exchange a message: either of them first, both at once, and
// with an acceptor that drops them.
#include <atomic>
#include <random>
#include <thread>

#include "tests/support/connectors.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

TEST(two_ranks_that_both_begin_get_one_connection) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        ConnectorWorld world(2);
        std::unique_ptr<Connector> ends[2] = {world.connector(0), world.connector(1)};
        const unsigned who = random() % 3;  // rank 0, rank 1, both
        Fd fds[2];
        std::vector<Connections::Made> made[2];
        bool wanted[2] = {};
        // One thread moves both sides in random order, so that their messages cross in all ways.
        for (int step = 0; step < 100'000 && (!fds[0].valid() || !fds[1].valid()); ++step) {
            const size_t moves = random() % 5 < 1 + seed % 4 ? 0 : 1;
            if (!wanted[moves] && (who == 2 || who == moves) && random() % 3 == 0)
                wanted[moves] = true, ends[moves]->want(int(1 - moves));
            made[moves].clear();
            ck_assert(ends[moves]->progress(&made[moves]).ok());
            for (Connections::Made &each : made[moves]) {
                ck_assert_msg(each.fd.valid(), "seed %u: %s", seed, each.why.c_str());
                ck_assert_msg(!fds[moves].valid(), "seed %u: made twice", seed);
                fds[moves] = std::move(each.fd);
            }
        }
        ck_assert_msg(fds[0].valid() && fds[1].valid(), "seed %u: not connected", seed);
        ck_assert_msg(are_ends_of_one_connection(fds[0], fds[1]), "seed %u: two", seed);
        ck_assert_msg(are_ends_of_one_connection(fds[1], fds[0]), "seed %u: two", seed);
        ck_assert(!ends[0]->busy() && !ends[1]->busy());
    }
}

TEST(two_ranks_that_begin_at_the_same_time_get_one_connection) {
    for (int round = 0; round < 100; ++round) {
        ConnectorWorld world(2);
        std::unique_ptr<Connector> ends[2] = {world.connector(0), world.connector(1)};
        std::atomic<int> ready = 0, connected = 0;
        std::atomic<bool> end = false;
        Fd fds[2];
        std::vector<std::thread> threads;
        for (int rank : {0, 1}) {
            threads.emplace_back([&, rank] {
                ends[rank]->want(1 - rank);
                ++ready;
                while (ready < 2) std::this_thread::yield();
                for (bool has = false; !end;) {
                    std::vector<Connections::Made> made;
                    ck_assert(ends[rank]->progress(&made).ok());
                    for (Connections::Made &each : made) {
                        ck_assert_msg(each.fd.valid() && !has, "%s", each.why.c_str());
                        has = true;
                        fds[rank] = std::move(each.fd);
                        ++connected;
                    }
                    std::this_thread::yield();
                }
            });
        }
        while (connected < 2) std::this_thread::yield();
        end = true;
        for (std::thread &each : threads) each.join();
        ck_assert(are_ends_of_one_connection(fds[0], fds[1]));
    }
}

// As when too many connections at the acceptor cost it its place.
TEST(a_connection_dropped_by_the_acceptor_is_retried) {
    ConnectorWorld world(2);
    std::unique_ptr<Connector> one = world.connector(1);
    std::atomic<bool> end = false;
    Fd fds[2];
    std::string why[2];
    std::thread other([&] {
        pollfd comes{.fd = world.listeners[0].get(), .events = POLLIN, .revents = 0};
        for (int dropped = 0; dropped < 3; ++dropped) {
            poll(&comes, 1, -1);
            const Fd gone(accept(world.listeners[0].get(), nullptr, nullptr));
        }
        std::unique_ptr<Connector> zero = world.connector(0);
        while (!fds[0].valid()) {
            std::vector<Connections::Made> made;
            ck_assert(zero->progress(&made).ok());
            for (Connections::Made &each : made) fds[0] = std::move(each.fd);
        }
        end = true;
    });
    one->want(0);
    int times = 0;
    while (!fds[1].valid()) {
        std::vector<Connections::Made> made;
        ck_assert(one->progress(&made).ok());
        for (Connections::Made &each : made) ++times, fds[1] = std::move(each.fd);
    }
    other.join();
    ck_assert_int_eq(times, 1);
    ck_assert(are_ends_of_one_connection(fds[0], fds[1]));
}

// A rank that has ended is reported at once, whatever the timeout of the operation.
TEST(a_peer_that_has_ended_is_unreachable) {
    ConnectorWorld world(2);
    world.listeners[0] = Fd();
    std::unique_ptr<Connector> one = world.connector(1);
    one->want(0);
    std::vector<Connections::Made> made;
    while (made.empty()) ck_assert(one->progress(&made).ok());
    ck_assert(!made[0].fd.valid());
    ck_assert_msg(made[0].why.find("refused") != std::string::npos, "%s", made[0].why.c_str());
}

TEST(a_stranger_at_the_port_is_not_connected) {
    ConnectorWorld world(2);
    std::unique_ptr<Connector> zero = world.connector(0);
    RankContext stranger;
    stranger.rank = 1, stranger.size = 2;
    Connector other(
        stranger, [&](int) { return world.endpoints[0]; }, std::move(world.listeners[1]),
        kOtherSecret);
    other.want(0);
    std::vector<Connections::Made> mine, theirs;
    while (theirs.empty()) {
        ck_assert(zero->progress(&mine).ok());
        ck_assert(other.progress(&theirs).ok());
    }
    ck_assert(mine.empty());
    ck_assert(!theirs[0].fd.valid());
}

}  // namespace

int main() { return run_all("connect"); }
