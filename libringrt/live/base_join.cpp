// SPDX-License-Identifier: BSD-3-Clause
// The present ranks form a communicator with an extension's, and continue on it.
#include <utility>

#include "libringrt/base/clock.h"
#include "libringrt/collective/common_settings.h"
#include "libringrt/live/resizer.h"

namespace ringrt::live {
namespace {

constexpr double kAgain_s = 5;  // after the listener could not start

}  // namespace

// An extension asks again for as long as it waits, and each try may fail alike.
void Resizer::tell(const std::string &line) {
    if (line == told_) return;
    told_ = line;
    log_line(line);
}

// What base and extensions must have alike besides ResizerOptions::layout.
uint32_t Resizer::settings() const {
    return common_settings() | static_cast<uint32_t>(options_.save_inline) << 16;
}

bool Resizer::listens() {
    if (listener_) return true;
    if (monotonic_s() < listen_from_s_) return false;
    auto listener =
        std::make_unique<JoinListener>(options_.directory, options_.layout(), settings());
    if (Status started = listener->start(); !started.ok()) {
        tell(started.message + ": no extension joins now");
        listen_from_s_ = monotonic_s() + kAgain_s;
        return false;
    }
    listener_ = std::move(listener);
    return true;
}

void Resizer::form() {
    const int rank = present().rank();
    number_ = machine_.offer();
    forming_ = std::make_unique<Forming>(
        config(join_file(options_.directory, number_), rank, machine_.ranks_then()),
        Forming::Wanted{
            .gpu = present().nccl_device(), .spares = options_.spares, .below = machine_.ranks()});
    if (listener_) listener_->invite(number_, machine_.ranks(), machine_.ranks_then());
}

void Resizer::adopt() {
    present_level().spares = forming_->take_spares_below();  // for when the new ranks are gone
    above_.push_back(forming_->take());
    forming_.reset();
    if (listener_) listener_->close(number_);
    options_.use(present());
    rows_.adopt(present().size());
    told_.clear();
    settled_ = {.root = 0, .is_a_rank_behind = true};  // with what rank 0 sent
}

}  // namespace ringrt::live
