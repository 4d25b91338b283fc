// SPDX-License-Identifier: BSD-3-Clause
// The first bytes on a connection between ranks, in both directions. Without the secret no peer is
// accepted, whatever it sends. With it, only the peer that the acceptor expects. Runs from memory.
// Inputs that end with "socket" also run through sockets, which takes ten times as long.
#include "libringrt/bootstrap/handshake.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "tests/fuzz/fuzz.h"

using namespace ringrt;
using namespace ringrt::fuzz;

namespace {

RankContext &self() {
    static RankContext made;
    made.rank = 0;
    made.size = 4;
    made.timeout_ms = 1000;
    made.warn = [](const std::string &line) { expect(is_one_line(line), "a warning is one line"); };
    return made;
}

constexpr Secret kSecret{std::byte{7}};
constexpr Side kServer{kSecret, Purpose::Start, 0, 4};

// An unauthenticated peer, or a faulty rank with the secret, sends this to the acceptor in two
// parts.
HelloResult say(std::string_view input, bool has_secret) {
    PendingHello visit{.nonce = {std::byte{1}}};
    std::string said(input.substr(0, sizeof(Hello)));
    if (has_secret && said.size() == sizeof(Hello)) {
        Hello hello;
        std::memcpy(&hello, said.data(), sizeof hello);
        const Side claimed{kSecret, Purpose(hello.purpose), int(hello.rank), int(hello.size)};
        const Mac mac = make_hello(claimed, visit.nonce, hello.nonce).mac;
        std::memcpy(said.data() + offsetof(Hello, mac), mac.data(), mac.size());
    }
    const size_t cut = said.empty() ? 0 : uint8_t(said.front()) % (said.size() + 1);
    HelloResult verdict = HelloResult::incomplete;
    for (const std::string_view part :
         {std::string_view(said).substr(0, cut), std::string_view(said).substr(cut)}) {
        if (verdict == HelloResult::unauthenticated) return verdict;
        std::memcpy(visit.rest().data(), part.data(), part.size());
        visit.received += part.size();
        verdict = classify(visit, kServer);
        if (verdict != HelloResult::authenticated) continue;
        expect(has_secret && visit.hello.purpose == 1 && visit.hello.size == 4 &&
                   visit.hello.rank >= 1 && visit.hello.rank < 4,
               "only ranks that the acceptor waits for come in");
    }
    return verdict;
}

// What listens in place of a rank, as connect_handshake() reads it.
void believe(std::string_view input) {
    Greeting greeting{};
    Mac proof{};
    if (input.size() < sizeof greeting + sizeof proof) return;
    std::memcpy(&greeting, input.data(), sizeof greeting);
    std::memcpy(&proof, input.data() + sizeof greeting, sizeof proof);
    if (!is_greeting(greeting)) return;
    const Hello hello = make_hello({kSecret, Purpose::Data, 0, 4}, greeting.nonce, {});
    for (const Answer answer : {Answer::accepted, Answer::comes})
        expect(!equal_in_constant_time(proof, make_answer(answer, kSecret, hello, greeting.nonce)),
               "nobody without the secret is believed");
}

// A listening socket without a name in any directory.
class Listener {
  public:
    Listener() {
        address_.sun_family = AF_UNIX;
        const std::string name = "ringrt-fuzz-" + std::to_string(getpid());
        std::memcpy(address_.sun_path + 1, name.data(), name.size());
        length_ = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        fd_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        expect(bind(fd_.get(), address(), length_) == 0, "bind");
        expect(listen(fd_.get(), 16) == 0, "listen");
    }
    Fd take() { return std::move(fd_); }
    Fd connect() const {
        Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        expect(::connect(fd.get(), address(), length_) == 0, "connect");
        return fd;
    }

  private:
    const sockaddr *address() const { return reinterpret_cast<const sockaddr *>(&address_); }
    sockaddr_un address_{};
    socklen_t length_ = 0;
    Fd fd_;
};

void send_all(int fd, std::string_view bytes) {
    if (!bytes.empty())
        expect(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size()) ||
                   errno == EPIPE || errno == ECONNRESET,
               "send");
}

// An unauthenticated peer at the acceptor: sends the input in two parts, and closes.
void visit(std::string_view input) {
    static Listener listener;
    static Acceptor acceptor(listener.take(), kSecret, Purpose::Start, self());
    std::vector<Acceptor::Accepted> arrivals;
    Fd fd = listener.connect();
    const size_t cut = input.empty() ? 0 : uint8_t(input[0]) % (input.size() + 1);
    send_all(fd.get(), input.substr(0, cut));
    expect(acceptor.serve(0, &arrivals).ok(), "the acceptor stays open");
    send_all(fd.get(), input.substr(cut));
    fd.close();
    for (int i = 0; i < 3; ++i)
        expect(acceptor.serve(0, &arrivals).ok(), "the acceptor stays open");
    expect(arrivals.empty(), "nobody without the secret comes in");
}

// A foreign program listens in place of a rank.
void shake_hands_with(std::string_view input) {
    int ends[2];
    expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    Fd ours(ends[0]), theirs(ends[1]);
    fcntl(ours.get(), F_SETFL, O_NONBLOCK);
    send_all(theirs.get(), input);
    shutdown(theirs.get(), SHUT_WR);
    const Status status = connect_handshake(ours.get(), kSecret, Purpose::Data, self(), 1);
    expect(!status.ok(), "nobody without the secret is believed");
    expect(is_one_line(status.message), "and the refusal is one line");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view input = text_of(data, size);
    expect(say(input, false) != HelloResult::authenticated, "nobody without the secret comes in");
    say(input, true);
    believe(input);
    // At most a socket's buffer: the writer must not wait for the reader.
    if (size > 4096 || !input.ends_with("socket")) return 0;
    visit(input);
    shake_hands_with(input);
    return 0;
}
