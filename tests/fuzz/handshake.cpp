// SPDX-License-Identifier: BSD-3-Clause
// The first bytes on a connection between ranks, in both directions. Without the secret nobody gets
// in, whatever is sent.
#include "libringrt/rendezvous/handshake.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "tests/fuzz/fuzz.h"

using namespace ringrt;
using namespace ringrt::fuzz;

namespace {

World &world() {
    static World made;
    made.rank = 0;
    made.size = 4;
    made.timeout_ms = 1000;
    made.warn = [](const std::string &line) { expect(is_one_line(line), "a warning is one line"); };
    return made;
}

// A listening socket without a name in any folder.
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

// A stranger at the door: sends the input in two parts, and leaves.
void visit(std::string_view input) {
    static Listener listener;
    static Door door(listener.take(), Secret{std::byte{7}}, Purpose::Start, world());
    std::vector<Door::Arrival> arrivals;
    Fd fd = listener.connect();
    const size_t cut = input.empty() ? 0 : uint8_t(input[0]) % (input.size() + 1);
    send_all(fd.get(), input.substr(0, cut));
    expect(door.serve(0, &arrivals).ok(), "the door stays open");
    send_all(fd.get(), input.substr(cut));
    fd.close();
    for (int i = 0; i < 3; ++i) expect(door.serve(0, &arrivals).ok(), "the door stays open");
    expect(arrivals.empty(), "nobody without the secret comes in");
}

// Something else that listens where a rank should be.
void knock_at(std::string_view input) {
    int ends[2];
    expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    Fd ours(ends[0]), theirs(ends[1]);
    fcntl(ours.get(), F_SETFL, O_NONBLOCK);
    send_all(theirs.get(), input);
    shutdown(theirs.get(), SHUT_WR);
    const Status status = knock(ours.get(), Secret{std::byte{7}}, Purpose::Data, world(), 1);
    expect(!status.ok(), "nobody without the secret is believed");
    expect(is_one_line(status.line), "and the refusal is one line");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 4096) return 0;  // a socket's buffer: the writer must not wait for the reader
    visit(text_of(data, size));
    knock_at(text_of(data, size));
    return 0;
}
