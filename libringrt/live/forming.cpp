// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/forming.h"

#include "libringrt/base/thread.h"

namespace ringrt::live {
namespace {

// Of NCCL's start: it failed here, and would again.
bool is_own(ringrt_status_t failure) {
    return failure == RINGRT_SYSTEM_ERROR || failure == RINGRT_NO_MEMORY ||
           failure == RINGRT_UNSUPPORTED;
}

}  // namespace

Forming::Forming(CommunicatorConfig config, int gpu)
    : communicator_(std::make_unique<Communicator>(std::move(config))) {
    auto store = [this](Formed state) { state_.store(state, std::memory_order_release); };
    const Status started = try_start_thread(
        thread_,
        [this, store, gpu] {
            const bool met = communicator_->start() == RINGRT_OK;
            const ringrt_status_t nccl = met ? communicator_->start_nccl_ahead(gpu) : RINGRT_OK;
            if (met && nccl == RINGRT_OK) return store(Formed::done);
            outcome_ = {is_own(nccl) ? nccl : RINGRT_PEER_LOST, communicator_->last_error()};
            communicator_->abort();  // some failures are not told to the peers
            store(Formed::failed);
        },
        [store](ringrt_status_t, const char *) { store(Formed::failed); });
    if (started.ok()) return;
    outcome_ = started;
    store(Formed::failed);
}

Forming::~Forming() {
    if (communicator_) communicator_->abort();
    if (thread_.joinable()) thread_.join();
}

std::unique_ptr<Communicator> Forming::take() {
    thread_.join();
    return std::move(communicator_);
}

}  // namespace ringrt::live
