// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/forming.h"

#include "libringrt/base/thread.h"

namespace ringrt::live {

Forming::Forming(CommunicatorConfig config)
    : communicator_(std::make_unique<Communicator>(std::move(config))) {
    auto store = [this](Formed state) { state_.store(state, std::memory_order_release); };
    thread_ = start_thread(
        [this, store] {
            store(communicator_->start() == RINGRT_OK ? Formed::done : Formed::failed);
        },
        [store](ringrt_status_t, const char *) { store(Formed::failed); });
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
