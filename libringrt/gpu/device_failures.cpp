// SPDX-License-Identifier: BSD-3-Clause
// What DeviceCollectives does when NCCL or a rank fails.
#include <thread>

#include "libringrt/gpu/device_collectives.h"

namespace ringrt {

// NCCL ends at once, and so does every wait for it. The line names the rank and the phase.
Status DeviceCollectives::failed(Status status, const char *phase) {
    give_up();
    status = with_lost_rank(std::move(status));
    if (!status.message.starts_with("rank "))
        status.message =
            format_text("rank %d: %s, during %s", self_.rank, status.message.c_str(), phase);
    return status;
}

// NCCL may be the first to see that a connection ended, and does not say whose. The host's
// connections to that rank end at about the same time.
Status DeviceCollectives::with_lost_rank(Status status) {
    constexpr auto kMost = std::chrono::milliseconds(1500), kNap = std::chrono::milliseconds(5);
    if (status.code != RINGRT_PEER_LOST || status.failed_rank >= 0) return status;
    for (const auto until = Clock::now() + kMost; Clock::now() < until;) {
        if (Status found = host_.watch(); !found.ok()) return found;
        std::this_thread::sleep_for(kNap);
    }
    return status;
}

void DeviceCollectives::give_up() {
    if (gpu_ != nullptr) gpu_->nccl_end(true);
    ahead_.gpu.reset();
    pending_.clear();
    last_ = nullptr;
}

void DeviceCollectives::watch_call() {
    const std::scoped_lock lock(nccl_call_.mutex);
    if (!nccl_call_.in_progress || !nccl_call_.failure.ok()) return;
    if (!nccl_call_.deadline) nccl_call_.deadline.emplace(self_, kByNccl);
    nccl_call_.failure = host_.watch();
    if (nccl_call_.failure.ok()) nccl_call_.failure = nccl_call_.deadline->check(-1);
    if (!nccl_call_.failure.ok()) gpu_->nccl_stop();
}

}  // namespace ringrt
