// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/channel/child_call.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

namespace ringrt::channel {
namespace {

constexpr std::size_t kTextBytesMax = 512;

double now_s() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

bool ChildCall::start(const std::function<std::string()> &work, double timeout_s) {
    end();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    child_ = fork();
    if (child_ == 0) {
        try {
            const std::string text = work().substr(0, kTextBytesMax);  // a pipe holds more
            (void)!write(ends[1], text.data(), text.size());
        } catch (...) {  // nothing may return into the caller's code from here
        }
        _exit(0);
    }
    close(ends[1]);
    from_ = ends[0];
    text_.clear();
    deadline_s_ = now_s() + timeout_s;
    if (child_ < 0) end();
    return running();
}

std::optional<std::string> ChildCall::poll() {
    if (!running()) return std::nullopt;
    std::array<char, kTextBytesMax> part{};
    const ssize_t got = read(from_, part.data(), part.size());
    if (got > 0) text_.append(part.data(), static_cast<std::size_t>(got));
    const bool is_open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    if (is_open && text_.size() < kTextBytesMax && now_s() < deadline_s_) return std::nullopt;
    if (is_open) text_.clear();
    std::string text = std::move(text_);
    end();
    return text;
}

std::string ChildCall::wait() {
    constexpr int kLook_ms = 50;
    while (running()) {
        if (auto text = poll()) return *text;
        pollfd ready{.fd = from_, .events = POLLIN, .revents = 0};
        (void)::poll(&ready, 1, kLook_ms);
    }
    return {};
}

void ChildCall::end() {
    if (from_ >= 0) close(from_);
    from_ = -1;
    if (child_ > 0) {
        (void)kill(child_, SIGKILL);
        while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
    }
    child_ = -1;
}

}  // namespace ringrt::channel
