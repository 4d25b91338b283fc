// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/signal_watch.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace ringrt {
namespace {

// One slot per signal number. Several handles of one process may count the same signal.
struct Slot {
    std::atomic<uint32_t> arrivals{0};
    int users = 0;
    struct sigaction before {};  // written only while users is 0, so stable for the handler
};
std::array<Slot, 65> slots;

static_assert(std::atomic<uint32_t>::is_always_lock_free, "needed in a signal handler");

// The signals whose earlier handler this thread is running. A handler that was installed above ours
// during an earlier handle's life may call ours again.
thread_local uint64_t in_earlier __attribute__((tls_model("initial-exec"))) = 0;

void handle(int signal, siginfo_t *info, void *context) {
    const int saved_errno = errno;
    Slot &slot = slots[static_cast<size_t>(signal)];
    const uint64_t mine = uint64_t{1} << (signal - 1);
    if (in_earlier & mine) return;
    slot.arrivals.fetch_add(1, std::memory_order_relaxed);
    in_earlier |= mine;
    if (slot.before.sa_flags & SA_SIGINFO)
        slot.before.sa_sigaction(signal, info, context);
    else if (slot.before.sa_handler != SIG_DFL && slot.before.sa_handler != SIG_IGN)
        slot.before.sa_handler(signal);
    in_earlier &= ~mine;
    errno = saved_errno;
}

bool is_ours(int signal) {
    struct sigaction now {};
    return sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == handle;
}

Status install(int signal, Slot &slot) {
    struct sigaction ours {};
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0)
        return {RINGRT_SYSTEM_ERROR, format_text("signal %d: %s", signal, strerror(errno))};
    if (!(before.sa_flags & SA_SIGINFO && before.sa_sigaction == handle)) slot.before = before;
    if (sigaction(signal, &ours, nullptr) != 0)
        return {RINGRT_SYSTEM_ERROR,
                format_text("signal %d cannot be caught: %s", signal, strerror(errno))};
    return {};
}

}  // namespace

Status SignalCounter::start(int signal) {
    if (signal < 1 || signal > 64)
        return {RINGRT_INVALID_ARGUMENT, format_text("no signal has the number %d", signal)};
    stop();
    Slot &slot = slots[static_cast<size_t>(signal)];
    if (slot.users == 0)
        if (Status installed = install(signal, slot); !installed.ok()) return installed;
    ++slot.users;
    signal_ = signal;
    before_ = slot.arrivals.load(std::memory_order_relaxed);
    return {};
}

void SignalCounter::stop() {
    if (signal_ == 0) return;
    Slot &slot = slots[static_cast<size_t>(signal_)];
    if (--slot.users == 0 && is_ours(signal_)) sigaction(signal_, &slot.before, nullptr);
    signal_ = 0;
}

void SignalCounter::pass_on() const {
    if (signal_ == 0 || !is_ours(signal_)) return;
    const struct sigaction &before = slots[static_cast<size_t>(signal_)].before;
    if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) return;
    sigaction(signal_, &before, nullptr);
    raise(signal_);
}

uint32_t SignalCounter::count() const {
    if (signal_ == 0) return 0;
    return slots[static_cast<size_t>(signal_)].arrivals.load(std::memory_order_relaxed) - before_;
}

}  // namespace ringrt
