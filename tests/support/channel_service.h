// SPDX-License-Identifier: BSD-3-Clause
// The node's side of the channel as the SPANK plugin starts it: a process that serves a socket. The
// test provides Slurm's answers.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "slurm_plugin/channel/service.h"

namespace ringrt::test {

class ChannelService {
  public:
    static constexpr const char *kKey = "0123abcd";

    explicit ChannelService(channel::SlurmCalls slurm)
        : name_("ringrt-test-" + std::to_string(getpid()) + "-" + std::to_string(++count_)) {
        const int listener = listen_here();
        int ends[2];
        if (listener < 0 || pipe(ends) != 0) abort();
        process_ = fork();
        if (process_ == 0) {
            close(ends[1]);
            serve(listener, ends[0], std::move(slurm));
        }
        close(listener);
        close(ends[0]);
        lifeline_ = ends[1];
    }
    ~ChannelService() { end(); }

    std::string address(const char *key = kKey) const { return name_ + "/" + key; }
    pid_t process() const { return process_; }
    void signal(int number) const { kill(process_, number); }
    // Returns the exit status after slurmstepd's end of the lifeline is closed.
    int end() {
        if (process_ < 0) return -1;
        close(lifeline_);
        int status = 0;
        waitpid(std::exchange(process_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    // Returns a socket connected to the service.
    int connect_here() const {
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        sockaddr_un address{};
        const socklen_t bytes = fill(address);
        return connect(fd, reinterpret_cast<sockaddr *>(&address), bytes) == 0 ? fd : -1;
    }

  private:
    socklen_t fill(sockaddr_un &address) const {
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name_.data(), name_.size());
        return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    }
    int listen_here() const {
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
        sockaddr_un address{};
        const socklen_t bytes = fill(address);
        const bool good = bind(fd, reinterpret_cast<sockaddr *>(&address), bytes) == 0;
        return good && listen(fd, 8) == 0 ? fd : -1;
    }
    [[noreturn]] static void serve(int listener, int lifeline, channel::SlurmCalls slurm) {
        sigset_t heard;
        sigemptyset(&heard);
        sigaddset(&heard, SIGURG);
        sigaddset(&heard, SIGTERM);
        sigaddset(&heard, records::kKeepSignal);
        sigprocmask(SIG_BLOCK, &heard, nullptr);
        channel::Service({.listener = listener,
                          .signals = signalfd(-1, &heard, SFD_NONBLOCK),
                          .lifeline = lifeline,
                          .ask_signal = SIGURG,
                          .owner = getuid(),
                          .key = kKey,
                          .slurm = std::move(slurm)})
            .run();
        _exit(0);
    }

    static inline int count_ = 0;
    const std::string name_;
    pid_t process_ = -1;
    int lifeline_ = -1;
};

}  // namespace ringrt::test
