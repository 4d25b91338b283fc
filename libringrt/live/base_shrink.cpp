// SPDX-License-Identifier: BSD-3-Clause
// The base gives up whole nodes, those of its last ranks (doc/live.md). The ranks that stay form a
// smaller level 0 in the background. The base's own communicator stays open and unused: it holds
// the memory of ringrt_mem_alloc().
#include <algorithm>

#include "libringrt/base/clock.h"
#include "libringrt/live/resizer.h"

namespace ringrt::live {
namespace {

constexpr double kAgain_s = 5;        // after a shrink that was called off
constexpr double kFormingMost_s = 3;  // after a loss: it takes 0.05 s if all ranks that stay form

}  // namespace

// The order that rank 0 votes for. An order that cannot be followed would only delay joins.
uint32_t Resizer::order() const {
    const uint32_t keep = options_.keep ? options_.keep() : 0;
    const bool may = machine_.level() == 0 && keep < static_cast<uint32_t>(machine_.ranks()) &&
                     !votes_.empty() && are_whole_nodes(votes_, machine_.ranks(), keep) &&
                     monotonic_s() >= shrink_from_s_;
    return may ? keep : 0;
}

void Resizer::shrink() {
    if (!machine_.stays()) return;
    number_ = 0;
    forming_ = std::make_unique<Forming>(
        config(shrink_file(options_.directory, machine_.offer()), options_.rank, machine_.keep()),
        Forming::Wanted{.gpu = present().nccl_device(), .spares = options_.spares});
}

void Resizer::call_off() {
    if (number_ == 0) shrink_from_s_ = monotonic_s() + kAgain_s;
    if (forming_ && forming_->state() == Formed::failed) {
        const Status why = forming_->outcome();
        if (why.code != RINGRT_PEER_LOST)
            tell(why.message + (number_ > 0 ? ": no extension joins now" : ": no node leaves now"));
    }
    drop_forming();
}

// In a planned shrink it has formed here. After a loss it may still be under way: it needs only the
// ranks that stay, and does not wait for NCCL.
Status Resizer::replace(Position &position) {
    forming_->skip_nccl();
    const double until_s = monotonic_s() + kFormingMost_s;
    while (forming_->state() == Formed::under_way && monotonic_s() < until_s)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (forming_->state() != Formed::done) {
        drop_forming();
        return {RINGRT_PEER_LOST, "a rank was lost while nodes left the job"};
    }
    std::vector<Level> dropped;
    if (lowest_.own) {
        lowest_.own->abort();
        dropped.push_back(std::move(lowest_));
    }
    lowest_ = forming_->take();
    forming_.reset();
    options_.use(*lowest_.own);
    close_in_background(std::move(dropped), false);
    return settle(position);
}

uint32_t Resizer::nodes() const {
    if (machine_.sizes().empty()) return 0;
    const auto ranks = static_cast<size_t>(machine_.sizes()[0]);
    if (votes_.size() < ranks || !are_whole_nodes(votes_, static_cast<int>(ranks), 0)) return 0;
    uint32_t sum = 0;
    for (size_t rank = 0; rank < ranks; ++rank)
        if (rank == 0 || votes_[rank].node != votes_[rank - 1].node) sum += votes_[rank].node;
    return sum;
}

}  // namespace ringrt::live
