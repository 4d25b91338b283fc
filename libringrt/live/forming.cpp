// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/forming.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "libringrt/base/thread.h"

namespace ringrt::live {
namespace {

// Of NCCL's start: it failed here, and would again.
bool is_own(ringrt_status_t failure) {
    return failure == RINGRT_SYSTEM_ERROR || failure == RINGRT_NO_MEMORY ||
           failure == RINGRT_UNSUPPORTED;
}

// The first `ranks` ranks of `over` meet: its messages carry the address of rank 0.
TextStore store_over(Communicator &over, int ranks) {
    using Text = std::array<char, RINGRT_STORE_VALUE_BYTES>;
    return {.put = [&over, ranks](const std::string &text) -> Status {
                Text all{};
                std::copy_n(text.data(), std::min(text.size(), all.size() - 1), all.data());
                std::vector<PointToPoint> messages;
                for (int rank = 1; rank < ranks; ++rank)
                    messages.push_back(
                        {.send = true, .data = all.data(), .bytes = all.size(), .peer = rank});
                return over.outcome(over.exchange(messages));
            },
            .get = [&over](uint32_t, std::string *text) -> Status {
                Text all{};
                RINGRT_TRY(over.outcome(
                    over.exchange({{.data = all.data(), .bytes = all.size(), .peer = 0}})));
                text->assign(all.data(), strnlen(all.data(), all.size()));
                return {};
            }};
}

}  // namespace

Forming::Forming(CommunicatorConfig config, Wanted wanted)
    : communicator_(std::make_unique<Communicator>(config)) {
    add_spares(config, wanted.spares, config.size, spares_);
    if (config.rank < wanted.below) add_spares(config, wanted.spares, wanted.below, below_);
    auto store = [this](Formed state) { state_.store(state, std::memory_order_release); };
    const Status started = try_start_thread(
        thread_,
        [this, store, gpu = wanted.gpu] {
            outcome_ = start(gpu);
            if (outcome_.ok()) return store(Formed::done);
            abort();  // some failures are not told to the peers
            store(Formed::failed);
        },
        [store](ringrt_status_t, const char *) { store(Formed::failed); });
    if (started.ok()) return;
    outcome_ = started;
    store(Formed::failed);
}

// They have no NCCL: it starts with a handle's first sum in GPU memory.
void Forming::add_spares(const CommunicatorConfig &config, int count, int ranks, Spares &out) {
    CommunicatorConfig of_spare = config;
    of_spare.size = ranks;
    of_spare.store = store_over(*communicator_, ranks);
    of_spare.retired = out.retired;
    for (int i = 0; i < count; ++i) out.left.push_back(std::make_unique<Communicator>(of_spare));
}

Status Forming::start(int gpu) {
    auto lost = [](const Communicator &at) -> Status {
        return {RINGRT_PEER_LOST, at.last_error()};
    };
    if (communicator_->start() != RINGRT_OK) return lost(*communicator_);
    const ringrt_status_t nccl = communicator_->start_nccl_ahead(gpu);
    if (nccl != RINGRT_OK)
        return {is_own(nccl) ? nccl : RINGRT_PEER_LOST, communicator_->last_error()};
    for (Spares *each : {&spares_, &below_})
        for (const std::unique_ptr<Communicator> &spare : each->left)
            if (spare->start() != RINGRT_OK) return lost(*spare);
    return {};
}

void Forming::abort() noexcept {
    communicator_->abort();
    for (const Spares *each : {&spares_, &below_})
        for (const std::unique_ptr<Communicator> &spare : each->left) spare->abort();
}

Forming::~Forming() {
    if (communicator_) abort();
    if (thread_.joinable()) thread_.join();
}

Level Forming::take() {
    thread_.join();
    return {.own = std::move(communicator_), .spares = std::move(spares_)};
}

}  // namespace ringrt::live
