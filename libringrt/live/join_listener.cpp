// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/join_listener.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "libringrt/base/thread.h"
#include "libringrt/bootstrap/rendezvous_file.h"

namespace ringrt::live {
namespace {

constexpr int kWait_ms = 20;   // how soon a join is noticed; training continues meanwhile
constexpr int kAtOnce = 4096;  // connections that have not identified themselves
constexpr uint32_t kRanksMax = 1 << 16;

bool is_closed(int fd) {
    char byte;
    const ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool send_answer(int fd, const JoinAnswer &answer) {
    return send(fd, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(sizeof answer);
}

void refuse(int fd, const std::string &why) {
    JoinAnswer answer;
    put(answer.line, why);
    (void)send_answer(fd, answer);
}

}  // namespace

JoinListener::JoinListener(std::string directory, uint64_t layout, uint32_t settings)
    : directory_(std::move(directory)), layout_(layout), settings_(settings) {
    self_.size = kAtOnce;
    self_.warn = log_line;
}

JoinListener::~JoinListener() {
    end_ = true;
    if (thread_.joinable()) thread_.join();
    if (listener_.valid()) unlink(listener_file(directory_).c_str());
}

Status JoinListener::start() {
    Rendezvous rendezvous;
    RINGRT_TRY(make_random(rendezvous.secret));
    secret_ = rendezvous.secret;
    RINGRT_TRY(listen_on(&rendezvous.endpoint.port, &listener_));
    rendezvous.endpoint.addresses = own_addresses();
    RINGRT_TRY(write_rendezvous(listener_file(directory_), rendezvous));
    return try_start_thread(
        thread_, [this] { run(); },
        [](ringrt_status_t, const char *what) {
            log_line(std::string("extensions can no longer join: ") + what);
        });
}

void JoinListener::run() {
    Acceptor acceptor(Fd(dup(listener_.get())), secret_, Purpose::Join, self_);
    while (!end_) {
        std::vector<Acceptor::Accepted> arrivals;
        if (!acceptor.serve(kWait_ms, &arrivals).ok()) return;
        for (Acceptor::Accepted &each : arrivals) visitors_.push_back({.fd = std::move(each.fd)});
        for (Visitor &visitor : visitors_) read_request(visitor);
        std::erase_if(visitors_, [](const Visitor &visitor) { return !visitor.fd.valid(); });
        drop_closed();
    }
}

// Closes or moves the visitor's fd when it is done with it, in success and failure.
void JoinListener::read_request(Visitor &visitor) {
    auto bytes = std::as_writable_bytes(std::span(&visitor.request, 1)).subspan(visitor.received);
    const ssize_t got = recv(visitor.fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) visitor.received += static_cast<size_t>(got);
    if (visitor.received == sizeof visitor.request) return admit(visitor);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) visitor.fd.close();
}

void JoinListener::admit(Visitor &visitor) {
    const JoinRequest &request = visitor.request;
    Fd fd = std::exchange(visitor.fd, Fd());
    if (request.version != kJoinVersion)
        return refuse(fd.get(), "it runs another version of libringrt");
    if (request.size == 0 || request.size > kRanksMax || request.rank >= request.size)
        return refuse(fd.get(), "its rank is not below its size");
    if (request.layout != layout_)
        return refuse(fd.get(),
                      "it registered other buffers or gradients (names, types, sizes), or has "
                      "another batch or seed, than the base");
    if (request.settings != settings_)
        return refuse(fd.get(),
                      "it has another RINGRT_ORDER, RINGRT_ALGORITHM, RINGRT_GPU or "
                      "RINGRT_SAVE_INLINE than the base");
    const std::scoped_lock lock(mutex_);
    Extension &extension = by_job_[request.job];
    if (extension.ranks != request.size) extension = {.ranks = request.size};
    extension.connections[request.rank] = std::move(fd);
    if (extension.connections.size() == extension.ranks && extension.number == 0)
        extension.number = ++numbers_;
}

void JoinListener::drop_closed() {
    const std::scoped_lock lock(mutex_);
    for (auto it = by_job_.begin(); it != by_job_.end();) {
        Extension &extension = it->second;
        const size_t left = std::erase_if(extension.connections, [](const auto &connection) {
            return is_closed(connection.second.get());
        });
        if (left > 0 && extension.invited) extension.gone = true;
        if (left > 0 && !extension.invited) extension.number = 0;
        it =
            extension.connections.empty() && !extension.invited ? by_job_.erase(it) : std::next(it);
    }
}

JoinListener::Extension *JoinListener::find(uint32_t number) {
    for (auto &[job, extension] : by_job_)
        if (extension.number == number) return &extension;
    return nullptr;
}

JoinListener::Offer JoinListener::offer() {
    const std::scoped_lock lock(mutex_);
    for (const auto &[job, extension] : by_job_)
        if (extension.number != 0 && !extension.invited)
            return {.number = extension.number, .ranks = extension.ranks};
    return {};
}

void JoinListener::invite(uint32_t number, int first_rank, int size) {
    const std::scoped_lock lock(mutex_);
    Extension *extension = find(number);
    if (!extension) return;  // it disconnected after the offer: is_gone()
    extension->invited = true;
    for (auto &[rank, fd] : extension->connections)
        if (!send_answer(fd.get(), {.invited = 1,
                                    .number = number,
                                    .rank = first_rank + static_cast<int>(rank),
                                    .size = size}))
            extension->gone = true;
}

bool JoinListener::is_gone(uint32_t number) {
    const std::scoped_lock lock(mutex_);
    const Extension *extension = find(number);
    return !extension || extension->gone;
}

void JoinListener::close(uint32_t number) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(by_job_, [&](const auto &each) { return each.second.number == number; });
}

}  // namespace ringrt::live
