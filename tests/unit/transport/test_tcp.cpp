// SPDX-License-Identifier: BSD-3-Clause
// The TCP transport of one rank over a socket pair, with the test as its peer, byte by byte where
// needed. Also how its connections are made.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "libringrt/bootstrap/rendezvous_file.h"
#include "libringrt/schedule/executor.h"
#include "libringrt/transport/frame.h"
#include "libringrt/transport/tcp.h"
#include "tests/support/check.h"
#include "tests/support/ranks.h"

using namespace ringrt;
using ringrt::test::TemporaryDirectory;

namespace {

constexpr OpHeader kCall{.number = 1, .kind = kAllGather, .count = 1};

// Connections that exist from the start.
class Ready : public Connections {
  public:
    Ready(int peer, Fd fd) { ready_.push_back({.peer = peer, .fd = std::move(fd), .why = {}}); }
    void want(int) override {}
    [[nodiscard]] bool busy() const override { return false; }
    Status progress(std::vector<Made> *made) override {
        for (Made &each : ready_) made->push_back(std::move(each));
        ready_.clear();
        return {};
    }
    void add_to(std::vector<pollfd> *) const override {}
    [[nodiscard]] int listener() const override { return -1; }

  private:
    std::vector<Made> ready_;
};

void connect_loopback(int (&ends)[2]) {
    const Fd listener(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto *const at = reinterpret_cast<sockaddr *>(&address);
    ck_assert_int_eq(bind(listener.get(), at, bytes), 0);
    ck_assert_int_eq(listen(listener.get(), 1), 0);
    ck_assert_int_eq(getsockname(listener.get(), at, &bytes), 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(ends[1], at, bytes), 0);
    ends[0] = accept(listener.get(), nullptr, nullptr);
    ck_assert_int_ge(ends[0], 0);
}

// Rank 0 of two; `peer` is the other end of its connection to rank 1.
struct Pair {
    RankContext self;
    Fd peer;
    std::unique_ptr<Transport> transport;

    explicit Pair(bool over_tcp = false) {
        self.rank = 0;
        self.size = 2;
        int ends[2];
        if (over_tcp)
            connect_loopback(ends);
        else
            ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        for (int end : ends) fcntl(end, F_SETFL, O_NONBLOCK);
        peer = Fd(ends[1]);
        transport = make_tcp(self, std::make_unique<Ready>(1, Fd(ends[0])));
        transport->begin(kCall);
    }

    bool progress() {
        bool moved = false;
        const Status status = transport->progress(0, &moved);
        ck_assert_msg(status.ok(), "%s", status.message.c_str());
        return moved;
    }

    // Sends all of it while the transport takes what arrives.
    void say(const std::vector<std::byte> &bytes, size_t from, size_t to) {
        while (from < to) {
            const ssize_t sent = ::send(peer.get(), bytes.data() + from, to - from, MSG_NOSIGNAL);
            if (sent > 0) from += size_t(sent);
            if (sent <= 0) progress();
        }
    }
};

std::vector<std::byte> framed(uint32_t segment, const std::vector<std::byte> &payload) {
    const Frame frame{.call = kCall, .segment = segment, .bytes = payload.size()};
    std::vector<std::byte> out(sizeof frame + payload.size());
    std::memcpy(out.data(), &frame, sizeof frame);
    std::ranges::copy(payload, out.begin() + sizeof frame);
    return out;
}

std::vector<std::byte> random_bytes(size_t count, std::mt19937 &random) {
    std::vector<std::byte> out(count);
    for (std::byte &each : out) each = std::byte(random() & 255);
    return out;
}

// Memory of one message in separate pieces.
struct Scattered {
    std::vector<std::byte> memory;
    Message message;

    Scattered(uint32_t segment, size_t bytes, std::mt19937 &random) : memory(2 * bytes + 64) {
        message.peer = 1;
        message.segment = segment;
        size_t at = 0;
        const size_t most = random() % 2 == 0 ? bytes : 500;  // more pieces than one call takes
        for (size_t left = bytes; left > 0;) {
            const size_t part = 1 + random() % std::min(left, most);
            message.pieces.emplace_back(memory.data() + at, part);
            left -= part;
            at = std::min(at + part + random() % 3, memory.size() - left - 1);
        }
    }
    [[nodiscard]] std::vector<std::byte> bytes() const {
        std::vector<std::byte> out;
        for (const auto &piece : message.pieces) out.insert(out.end(), piece.begin(), piece.end());
        return out;
    }
};

// In all worlds, about as many ranks report that they wait in each second.
TEST(large_worlds_report_less_often) {
    const auto period_ms = [](int size, uint32_t timeout_ms) {
        RankContext self;
        self.size = size;
        self.timeout_ms = timeout_ms;
        return report_period(self).count();
    };
    for (const int size : {2, 64, 256, 511}) ck_assert_int_eq(period_ms(size, 600000), 1000);
    ck_assert_int_eq(period_ms(512, 600000), 2000);
    ck_assert_int_eq(period_ms(4096, 600000), 16000);
    // The reports must name the stopped rank before the timeout.
    ck_assert_int_eq(period_ms(4096, 20000), 5000);
    ck_assert_int_eq(period_ms(2, 2000), 500);
    ck_assert_int_eq(period_ms(4096, 1), 10);
}

}  // namespace

// Messages of all sizes, sent in parts of all sizes, received before or after they arrive.
TEST(every_byte_arrives_where_it_belongs) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        std::mt19937 random(seed);
        Pair pair;
        std::vector<std::vector<std::byte>> payloads;
        std::vector<std::unique_ptr<Scattered>> places;
        std::vector<std::byte> stream;
        const size_t most = size_t{1} << (2 + random() % 17);
        for (uint32_t i = 0; i < 12; ++i) {
            payloads.push_back(random_bytes(random() % most, random));
            const std::vector<std::byte> one = framed(i, payloads.back());
            stream.insert(stream.end(), one.begin(), one.end());
            places.push_back(std::make_unique<Scattered>(i, payloads.back().size(), random));
        }
        const auto expect = [&](Scattered &place) {
            ck_assert(pair.transport->receive(&place.message).ok());
        };
        const size_t early = random() % 13;
        for (size_t i = 0; i < early; ++i) expect(*places[i]);
        size_t sent = 0, expected = early;
        while (expected < places.size() || !places.back()->message.done) {
            const size_t part = std::min(stream.size() - sent, 1 + random() % most * 2);
            // An unexpected message stays in the socket, so no more is sent than fits.
            if (expected == places.size() || part < 10'000) {
                const ssize_t took =
                    ::send(pair.peer.get(), stream.data() + sent, part, MSG_NOSIGNAL);
                if (took > 0) sent += size_t(took);
            }
            if (expected < places.size() && random() % 3 == 0) expect(*places[expected++]);
            pair.progress();
        }
        for (size_t i = 0; i < places.size(); ++i) {
            ck_assert_msg(places[i]->message.done && places[i]->bytes() == payloads[i],
                          "seed %u: message %zu of %zu bytes", seed, i, payloads[i].size());
        }
    }
}

// A rank that waits for the rest of a message may sleep: half a message moves only once.
TEST(half_a_message_alone_makes_no_progress) {
    for (size_t bytes : {size_t{100}, size_t{200'000}}) {
        std::mt19937 random(1);
        Pair pair;
        const std::vector<std::byte> payload = random_bytes(bytes, random);
        const std::vector<std::byte> stream = framed(0, payload);
        Scattered place(0, bytes, random);
        ck_assert(pair.transport->receive(&place.message).ok());
        pair.say(stream, 0, stream.size() / 2);
        int moves = 0;
        while (moves < 100 && pair.progress()) ++moves;
        ck_assert_int_lt(moves, 100);
        ck_assert(!place.message.done);
        pair.say(stream, stream.size() / 2, stream.size());
        while (!place.message.done) pair.progress();
        ck_assert(place.bytes() == payload);
    }
}

// A rank whose deadline has passed still receives another rank's reason, behind data that it does
// not expect.
TEST(an_abort_notice_is_received_behind_unexpected_data) {
    std::mt19937 random(2);
    Pair pair;
    const AbortNotice said = make_abort_notice(1, {RINGRT_NO_MEMORY, "rank 1: out of memory"});
    std::vector<std::byte> stream = framed(7, random_bytes(100'000, random));
    const Frame frame{.kind = kAbortNotice, .call = kCall, .bytes = sizeof said};
    const auto add = [&](const void *data, size_t bytes) {
        const auto *at = static_cast<const std::byte *>(data);
        stream.insert(stream.end(), at, at + bytes);
    };
    add(&frame, sizeof frame);
    add(&said, sizeof said);
    ck_assert_int_eq(::send(pair.peer.get(), stream.data(), stream.size(), MSG_NOSIGNAL),
                     ssize_t(stream.size()));
    // The peer reads no more: sends to it fail, and only then does this rank suspect a failure.
    shutdown(pair.peer.get(), SHUT_RD);
    std::vector<std::byte> data(1000);
    Message message{.peer = 1, .pieces = {data}};
    Status status = pair.transport->send(&message);
    bool moved = false;
    if (status.ok()) status = pair.transport->progress(0, &moved);
    ck_assert_int_eq(status.code, RINGRT_PEER_LOST);
    ck_assert_msg(status.message.find("out of memory") != std::string::npos, "%s",
                  status.message.c_str());
}

// A socket tells its failure once. The next read finds its end only, as if the peer had closed it.
TEST(a_failed_connection_is_named_by_its_first_failure) {
    for (const bool sends : {false, true}) {
        Pair pair(true);
        const linger at_once{.l_onoff = 1, .l_linger = 0};  // a reset
        setsockopt(pair.peer.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        pair.peer = Fd();
        std::vector<std::byte> data(1000);
        Message message{.peer = 1, .pieces = {data}};
        Status status = sends ? pair.transport->send(&message) : pair.transport->receive(&message);
        for (bool moved = false; status.ok();) status = pair.transport->progress(1, &moved);
        ck_assert_int_eq(status.code, RINGRT_PEER_LOST);
        ck_assert_msg(status.message.find("Connection reset by peer") != std::string::npos, "%s",
                      status.message.c_str());
    }
}

// Otherwise the peers treat the closed connection as this rank's death and name the wrong one.
TEST(an_abort_notice_gets_through_a_full_connection) {
    for (const bool half_sent : {false, true}) {
        Pair pair;
        // Sends until not one more byte is taken: part or nothing of the last message was sent.
        std::vector<std::byte> data(half_sent ? 1'000'000 : 4096 - sizeof(Frame));
        std::vector<std::unique_ptr<Message>> messages;
        do {
            messages.push_back(std::make_unique<Message>());
            *messages.back() = {.peer = 1, .pieces = {data}};
            ck_assert(pair.transport->send(messages.back().get()).ok());
        } while (messages.back()->done);
        // The peer is busy for a while.
        std::atomic<bool> goes = false;
        std::vector<std::byte> heard;
        std::thread peer([&] {
            while (!goes) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            fcntl(pair.peer.get(), F_SETFL, 0);
            std::vector<std::byte> part(100'000);
            for (ssize_t got = 1; got > 0;) {
                got = recv(pair.peer.get(), part.data(), part.size(), 0);
                if (got > 0) heard.insert(heard.end(), part.begin(), part.begin() + got);
            }
        });
        goes = true;
        pair.transport->notify_abort(2, {RINGRT_PEER_LOST, "rank 0: rank 2 on there is lost"});
        pair.transport.reset();
        peer.join();
        const size_t sent = messages.size() - (half_sent ? 0 : 1);
        ck_assert_uint_eq(heard.size(), sent * (sizeof(Frame) + data.size()) + sizeof(Frame) +
                                            sizeof(AbortNotice));
        AbortNotice said;
        std::memcpy(&said, heard.data() + heard.size() - sizeof said, sizeof said);
        ck_assert_int_eq(said.failed_rank, 2);
    }
}

// Data of a peer that called another operation, or with another count, is never used, even if that
// peer is gone while a message to it is half sent.
TEST(mismatching_data_is_dropped) {
    for (const bool other_call : {true, false}) {
        std::mt19937 random(3);
        Pair pair;
        std::vector<std::byte> data(4'000'000);
        Message out{.peer = 1, .pieces = {data}};
        ck_assert(pair.transport->send(&out).ok());
        ck_assert(!out.done);
        Scattered place(0, 4000, random);
        ck_assert(pair.transport->receive(&place.message).ok());
        Frame frame{.call = kCall, .bytes = 60'000};
        if (other_call) frame.call.kind = kBarrier;
        std::vector<std::byte> stream = random_bytes(sizeof frame + 50'000, random);
        std::memcpy(stream.data(), &frame, sizeof frame);
        ck_assert_int_eq(::send(pair.peer.get(), stream.data(), stream.size(), MSG_NOSIGNAL),
                         ssize_t(stream.size()));
        bool moved = false;
        const Status status = pair.transport->progress(0, &moved);
        ck_assert_int_eq(status.code, RINGRT_MISMATCH);
        pair.peer = Fd();
        pair.transport->notify_abort(1, status);
        ck_assert(!place.message.done);
    }
}

// An operation that ends with an exception sends its notice while the messages known to the
// transport still exist.
TEST(an_operation_without_memory_sends_an_abort_notice) {
    Pair pair;
    pair.self.fault_point = [] { throw std::bad_alloc(); };
    std::vector<float> data(100, 1);
    const Work work{.input = data.data(), .output = data.data(), .count = 100, .ranks = 2};
    const Status status = execute(one_shot(0, 2), work, kCall, pair.self, pair.transport.get());
    ck_assert_int_eq(status.code, RINGRT_NO_MEMORY);
    Frame frame;
    ck_assert_int_eq(recv(pair.peer.get(), &frame, sizeof frame, 0), sizeof frame);
    ck_assert_int_eq(frame.kind, kAbortNotice);
}

TEST(operations_are_counted_beyond_32_bits) {
    RankContext self;
    self.size = 2;
    std::vector<Message *> expected;
    Message *found = nullptr;
    OpHeader mine{.number = UINT32_MAX, .kind = kBarrier}, next = mine;
    ++next.number;
    ck_assert(match(self, mine, 1, {.call = next}, &expected, &found).ok());
    ck_assert_int_eq(match(self, next, 1, {.call = mine}, &expected, &found).code, RINGRT_MISMATCH);
}

TEST(a_pipe_at_the_rendezvous_blocks_no_rank) {
    TemporaryDirectory directory;
    const std::string path = directory.path + "/meet";
    ck_assert_int_eq(mkfifo(path.c_str(), 0600), 0);
    std::optional<Rendezvous> found;
    ck_assert_int_eq(read_rendezvous(path, &found).code, RINGRT_SYSTEM_ERROR);
}

int main() { return ringrt::test::run_all("tcp"); }
