// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/join_request.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "libringrt/bootstrap/handshake.h"
#include "libringrt/bootstrap/rendezvous_file.h"

namespace ringrt::live {
namespace {

constexpr std::chrono::milliseconds kAgain(100);

Status try_once(const std::string &file, const RankContext &self, Deadline *deadline, Fd *out) {
    std::optional<Rendezvous> found;
    RINGRT_TRY(read_rendezvous(file, &found));
    if (!found) return {RINGRT_TIMEOUT, "no base job with live_resize uses this directory"};
    RINGRT_TRY(connect_to(found->endpoint, deadline, 0, out));
    return connect_handshake(out->get(), found->secret, Purpose::Join, self, 0);
}

}  // namespace

Status JoinConnection::ask(const std::string &directory, const JoinRequest &request,
                           Deadline *deadline, const std::function<bool()> &give_up) {
    RankContext self;
    self.rank = static_cast<int>(request.rank), self.size = static_cast<int>(request.size);
    self.warn = log_line;
    heard_ = 0;
    for (;;) {
        fd_ = Fd();
        Status met = try_once(listener_file(directory), self, deadline, &fd_);
        if (met.ok())
            return write_all(fd_.get(), std::as_bytes(std::span(&request, 1)), deadline, 0);
        if (give_up()) return {RINGRT_ABORTED, "signalled to leave before it had joined"};
        if (Status in_time = deadline->check(-1); !in_time.ok())
            return {RINGRT_PEER_LOST,
                    format_text("the base job was not found at %s: %s",
                                listener_file(directory).c_str(), met.message.c_str())};
        std::this_thread::sleep_for(kAgain);
    }
}

Status JoinConnection::poll(int wait_ms, bool *invited, JoinAnswer *answer) {
    *invited = false;
    pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, wait_ms) <= 0) return {};
    auto bytes = std::as_writable_bytes(std::span(&answer_, 1)).subspan(heard_);
    char extra;
    const bool whole = bytes.empty();
    const ssize_t got = recv(fd_.get(), whole ? static_cast<void *>(&extra) : bytes.data(),
                             whole ? 1 : bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (got <= 0) return {RINGRT_PEER_LOST, "the base closed its connection to this extension"};
    if (whole) return {};
    heard_ += static_cast<size_t>(got);
    if (heard_ < sizeof answer_) return {};
    *answer = answer_;
    if (!answer_.invited)
        return {RINGRT_INVALID_ARGUMENT, "the base refused this extension: " + get(answer_.line)};
    *invited = true;
    return {};
}

}  // namespace ringrt::live
