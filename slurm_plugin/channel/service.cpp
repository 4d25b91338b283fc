// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/channel/service.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "slurm_plugin/records/fields.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt::channel {
namespace {

using records::ChannelMessage;
using records::ChannelWord;

constexpr std::size_t kClientsMax = 4;  // a job has one rank 0; more while it is being replaced
constexpr int kCallPoll_ms = 100;       // how often a call's deadline is checked

bool is_of(int fd, uid_t owner) {
    ucred peer{};
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == owner;
}

}  // namespace

Service::~Service() {
    for (Client &client : clients_) drop(client);
}

void Service::run() {
    for (;;) {
        std::vector<pollfd> all = {
            {options_.lifeline, POLLIN, 0}, {options_.signals, POLLIN, 0},
            {options_.listener, POLLIN, 0}, {requeue_.fd(), POLLIN, 0},  // poll() skips −1
            {report_.fd(), POLLIN, 0},      {preemption_.fd(), POLLIN, 0},
            {keep_.fd(), POLLIN, 0}};
        const auto clients_at = static_cast<std::ptrdiff_t>(all.size());
        for (const Client &client : clients_) all.push_back({client.fd, POLLIN, 0});
        const int wait_ms = is_calling() ? kCallPoll_ms : -1;
        if (::poll(all.data(), all.size(), wait_ms) < 0 && errno != EINTR) return;
        if (all[0].revents != 0) return;
        if (all[1].revents != 0) read_signals();
        auto ready = all.begin() + clients_at;
        for (Client &client : clients_)
            if ((ready++)->revents != 0) read_from(client);
        if (all[2].revents != 0) accept_client();
        end_calls();
        start_calls();
        std::erase_if(clients_, [](const Client &client) { return client.fd < 0; });
    }
}

void Service::accept_client() {
    const int fd = accept4(options_.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (!is_of(fd, options_.owner)) {
        close(fd);
        return;
    }
    if (clients_.size() >= kClientsMax) drop(clients_.front());
    clients_.push_back({.fd = fd});
    send_to(clients_.back(), {ChannelWord::hello, records::kChannelVersion, options_.key});
}

void Service::read_signals() {
    signalfd_siginfo arrived{};
    while (read(options_.signals, &arrived, sizeof arrived) == sizeof arrived) {
        if (static_cast<int>(arrived.ssi_signo) == options_.ask_signal)
            send_to_all(ChannelWord::asked, ++asked_);
        else if (arrived.ssi_signo == SIGTERM)
            note_sigterm();
        else if (static_cast<int>(arrived.ssi_signo) == records::kKeepSignal)
            wants_keep_ = static_cast<bool>(options_.slurm.ranks_to_keep);
    }
}

void Service::note_sigterm() {
    constexpr std::string_view kYes = "yes";
    const auto ask = [&] { return std::string(options_.slurm.is_preempted() ? kYes : ""); };
    if (preemption_.running()) return;
    if (is_leaving_ || !options_.slurm.is_preempted ||
        !preemption_.start(ask, options_.slurm.timeout_s))
        send_to_all(ChannelWord::ended, ++ended_);
}

void Service::read_from(Client &client) {
    std::array<char, records::kChannelBytesMax + 1> datagram{};  // a longer one is invalid
    const ssize_t got = recv(client.fd, datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0)
        drop(client);
    else
        take(client, {datagram.data(), static_cast<std::size_t>(got)});
}

void Service::take(Client &client, std::string_view datagram) {
    const auto message = records::parse_channel(datagram);
    if (message && message->word == ChannelWord::requeue) {
        client.wants_answer = wants_requeue_ = is_leaving_ = true;
        return;
    }
    const auto telemetry = message && message->word == ChannelWord::telemetry
                               ? records::parse_telemetry(message->text)
                               : std::nullopt;
    if (!telemetry) return drop(client);
    newest_ = *telemetry;
    wants_report_ = true;
}

void Service::start_calls() {
    const SlurmCalls &slurm = options_.slurm;
    if (wants_requeue_ && !requeue_.running()) {
        wants_requeue_ = false;
        if (!requeue_.start([&] { return records::format_channel(slurm.requeue()); },
                            slurm.timeout_s))
            is_leaving_ = answer("");
    }
    if (wants_keep_ && !keep_.running()) {
        wants_keep_ = false;
        keep_.start([&] { return std::to_string(slurm.ranks_to_keep()); }, slurm.timeout_s);
    }
    if (wants_report_ && !report_.running()) {
        wants_report_ = false;
        report_.start([&] { return slurm.report(newest_), std::string(); }, slurm.timeout_s);
    }
}

void Service::end_calls() {
    (void)report_.poll();
    if (const auto text = keep_.poll()) {
        int64_t ranks = -1;
        if (records::read_int(*text, 0, records::kGpusMax, ranks))
            send_to_all(ChannelWord::keep, ranks);
    }
    if (const auto text = requeue_.poll()) is_leaving_ = answer(*text);
    if (const auto yes = preemption_.poll()) {
        if (yes->empty())
            send_to_all(ChannelWord::ended, ++ended_);
        else
            send_to_all(ChannelWord::asked, ++asked_);
    }
}

bool Service::is_calling() const {
    return requeue_.running() || report_.running() || preemption_.running() || keep_.running();
}

// Returns whether Slurm accepted the requeue.
bool Service::answer(std::string_view text) {
    auto message = records::parse_channel(text);
    if (!message || message->word != ChannelWord::answer)
        message = ChannelMessage{ChannelWord::answer, 1, "no answer in time"};
    for (Client &client : clients_)
        if (std::exchange(client.wants_answer, false)) send_to(client, *message);
    return message->number == 0;
}

void Service::send_to_all(ChannelWord word, int64_t number) {
    for (Client &client : clients_) send_to(client, {word, number, ""});
}

void Service::send_to(Client &client, const ChannelMessage &message) {
    const std::string text = records::format_channel(message);
    if (send(client.fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) drop(client);
}

void Service::drop(Client &client) {
    if (client.fd >= 0) close(client.fd);
    client.fd = -1;
}

}  // namespace ringrt::channel
