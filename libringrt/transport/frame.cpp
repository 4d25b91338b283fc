// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/frame.h"

#include <algorithm>

namespace ringrt {

bool Frame::sound() const {
    if (magic != kFrameMagic) return false;
    switch (kind) {
        case kData:
            return true;
        case kFarewell:
            return bytes == sizeof(Farewell);
        case kWaiting:
            return bytes == 0;
        default:
            return false;
    }
}

Farewell make_farewell(int culprit, const Status &why) {
    Farewell said{.culprit = culprit, .code = why.code, .line = {}};
    // What is passed on is what the first rank saw, not who told whom.
    constexpr std::string_view kTold = " told: ";
    size_t told = why.line.rfind(kTold);
    const char *line = why.line.c_str() + (told == why.line.npos ? 0 : told + kTold.size());
    snprintf(said.line, sizeof said.line, "%s", line);
    return said;
}

Status hear_farewell(const World &world, int teller, Farewell said, const Call &call) {
    if (said.culprit < 0) return {};
    said.line[sizeof said.line - 1] = 0;
    for (char &c : said.line) {
        if (c != 0 && (c < ' ' || c > '~')) c = '?';
    }
    int culprit = std::min(said.culprit, int32_t(world.size - 1));
    return {RINGRT_PEER_LOST,
            format_line("rank %d: %s is lost during %s; %s told: %s", world.rank,
                        world.name_of(culprit).c_str(), describe(call).c_str(),
                        world.name_of(teller).c_str(), said.line),
            culprit};
}

Status peer_lost(const World &world, int rank, const char *why, const Call &call) {
    return {RINGRT_PEER_LOST,
            format_line("rank %d: %s is lost (%s) during %s", world.rank,
                        world.name_of(rank).c_str(), why, describe(call).c_str()),
            rank};
}

Status match(const World &world, const Call &mine, int rank, const Frame &frame,
             std::vector<Message *> *expected, Message **out) {
    *out = nullptr;
    // It is ahead, be it beyond 2^32 operations.
    if (int32_t(frame.call.number - mine.number) > 0) return {};
    if (frame.call != mine) {
        return {RINGRT_MISMATCH,
                format_line(
                    "rank %d calls %s (its operation %u) where %s calls %s (its operation %u): "
                    "all ranks must call the same operations in the same order",
                    world.rank, describe(mine).c_str(), mine.number, world.name_of(rank).c_str(),
                    describe(frame.call).c_str(), frame.call.number),
                rank};
    }
    auto found = std::find_if(expected->begin(), expected->end(), [&](const Message *each) {
        return each->segment == frame.segment && each->slot == frame.slot;
    });
    if (found == expected->end()) return {};
    if ((*found)->bytes() != frame.bytes) {
        return {
            RINGRT_MISMATCH,
            format_line("rank %d: %s sent %llu bytes where %zu were due during %s", world.rank,
                        world.name_of(rank).c_str(), static_cast<unsigned long long>(frame.bytes),
                        (*found)->bytes(), describe(mine).c_str())};
    }
    *out = *found;
    expected->erase(found);
    return {};
}

Waits::Waits(const World &world)
    : world_(world),
      period_(std::chrono::milliseconds(std::clamp<uint32_t>(world.timeout_ms / 4, 10, 1000))),
      news_(size_t(world.size)) {}

bool Waits::due() {
    auto now = Clock::now();
    if (now - moved_ < period_ || now - told_ < period_) return false;
    told_ = now;
    return true;
}

void Waits::heard(int rank, uint32_t waits_for) {
    bool known = waits_for < uint32_t(world_.size);
    news_[size_t(rank)] = {Clock::now(), known ? int(waits_for) : -1};
}

int Waits::blame(int peer) const {
    // Younger news than two periods: that rank lives.
    auto oldest = Clock::now() - 2 * period_ - std::chrono::milliseconds(kSliceMs);
    for (int hops = 0; peer >= 0 && hops < world_.size; ++hops) {
        const News &news = news_[size_t(peer)];
        if (news.when < oldest || news.waits_for < 0 || news.waits_for == world_.rank) break;
        peer = news.waits_for;
    }
    return peer;
}

}  // namespace ringrt
