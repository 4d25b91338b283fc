// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/channel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "libringrt/base/thread.h"

namespace ringrt::job {
namespace {

using records::ChannelMessage;
using records::ChannelWord;

constexpr int kConnectTries = 100;
constexpr useconds_t kConnectAgain_us = 10'000;

// Tries for a second: the service may not have accepted other connections yet.
Fd connect_to_name(const std::string &name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());  // the parser bounds its size
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    for (int i = 0; fd.valid() && i < kConnectTries; ++i) {
        if (connect(fd.get(), reinterpret_cast<sockaddr *>(&address), bytes) == 0) return fd;
        if (errno != EAGAIN) break;
        usleep(kConnectAgain_us);
    }
    fd.close();
    return fd;
}

}  // namespace

std::unique_ptr<Channel> Channel::open(const std::string &address) {
    const auto parsed = records::parse_channel_address(address);
    if (!parsed) return nullptr;
    Fd connection = connect_to_name(parsed->name);
    Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!connection.valid() || !wake.valid()) return nullptr;
    return std::unique_ptr<Channel>(
        new Channel(std::move(connection), std::move(wake), parsed->key));
}

Channel::Channel(Fd connection, Fd wake, std::string key)
    : connection_(std::move(connection)),
      wake_(std::move(wake)),
      key_(std::move(key)),
      closed_({connection_.get()}) {
    thread_ = start_thread([this] { read_messages(); },
                           [this](ringrt_status_t, const char *) { there_ = false; });
}

Channel::~Channel() {
    const uint64_t one = 1;
    (void)!write(wake_.get(), &one, sizeof one);
    thread_.join();
}

void Channel::read_messages() {
    pollfd both[] = {{connection_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    do {
        if (::poll(both, 2, -1) < 0 && errno != EINTR) break;
    } while (both[1].revents == 0 && (both[0].revents == 0 || take_message()));
    there_ = false;
}

// False: no more messages follow.
bool Channel::take_message() {
    std::array<char, records::kChannelBytesMax + 1> datagram{};
    const ssize_t got = recv(connection_.get(), datagram.data(), datagram.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    const auto message =
        records::parse_channel(std::string_view(datagram.data(), static_cast<size_t>(got)));
    return message && act_on(*message);
}

// Messages before the key are ignored: another user may listen at a name whose owner has gone.
bool Channel::act_on(const ChannelMessage &message) {
    if (message.word == ChannelWord::hello)
        return there_ = message.number == records::kChannelVersion && message.text == key_;
    if (!there_) return false;
    if (message.word == ChannelWord::asked) ++asked_;
    if (message.word == ChannelWord::ended) ++ended_;
    if (message.word == ChannelWord::keep) keep_ = static_cast<uint32_t>(message.number);
    if (message.word == ChannelWord::answer) {
        const std::scoped_lock lock(mutex_);
        answer_ = CommandResult{.exit_code = message.number == 0 ? 0 : 1, .output = message.text};
    }
    return true;
}

bool Channel::send(const ChannelMessage &message) {
    const std::string text = records::format_channel(message);
    return there_ && ::send(connection_.get(), text.data(), text.size(),
                            MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

bool Channel::send_telemetry(const records::Telemetry &telemetry) {
    return send({ChannelWord::telemetry, 0, records::format_telemetry(telemetry)});
}

bool Channel::ask_requeue(uint64_t step) {
    {
        const std::scoped_lock lock(mutex_);
        answer_.reset();
    }
    return send({ChannelWord::requeue, static_cast<int64_t>(step), ""});
}

std::optional<CommandResult> Channel::take_answer() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(answer_, std::nullopt);
}

}  // namespace ringrt::job
