// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/frame.h"

#include <algorithm>

namespace ringrt {

bool Frame::is_valid() const {
    if (magic != kFrameMagic) return false;
    switch (kind) {
        case kData:
            return true;
        case kAbortNotice:
            return bytes == sizeof(AbortNotice);
        case kWaiting:
            return bytes == 0;
        default:
            return false;
    }
}

AbortNotice make_abort_notice(int failed_rank, const Status &why) {
    AbortNotice said{.failed_rank = failed_rank, .code = why.code, .line = {}};
    // Forwards the first rank's line without the chain of ranks that reported it.
    constexpr std::string_view kTold = " told: ";
    size_t told = why.message.rfind(kTold);
    const char *line = why.message.c_str() + (told == why.message.npos ? 0 : told + kTold.size());
    snprintf(said.line, sizeof said.line, "%s", line);
    return said;
}

Status receive_abort_notice(const RankContext &self, int teller, AbortNotice said,
                            const OpHeader &call) {
    if (said.failed_rank < 0) return {};
    said.line[sizeof said.line - 1] = 0;
    for (char &c : said.line) {
        if (c != 0 && (c < ' ' || c > '~')) c = '?';
    }
    int failed_rank = std::min(said.failed_rank, int32_t(self.size - 1));
    return {RINGRT_PEER_LOST,
            format_text("rank %d: %s is lost during %s; %s reported: %s", self.rank,
                        self.name_of(failed_rank).c_str(), describe(call).c_str(),
                        self.name_of(teller).c_str(), said.line),
            failed_rank};
}

Status peer_lost(const RankContext &self, int rank, const char *why, const OpHeader &call) {
    return {RINGRT_PEER_LOST,
            format_text("rank %d: %s is lost (%s) during %s", self.rank, self.name_of(rank).c_str(),
                        why, describe(call).c_str()),
            rank};
}

Status other_size(const RankContext &self, int rank, uint64_t sent, size_t due,
                  const OpHeader &call) {
    return {RINGRT_MISMATCH,
            format_text("rank %d: %s sent %llu bytes where %zu were expected during %s", self.rank,
                        self.name_of(rank).c_str(), static_cast<unsigned long long>(sent), due,
                        describe(call).c_str())};
}

std::chrono::milliseconds report_period(const RankContext &self) {
    constexpr int kAtOnce = 256;  // ranks that report in one second
    const int64_t most_ms = 1000 * std::max<int64_t>(1, self.size / kAtOnce);
    return std::chrono::milliseconds(std::clamp<int64_t>(self.timeout_ms / 4, 10, most_ms));
}

Status match(const RankContext &self, const OpHeader &mine, int rank, const Frame &frame,
             std::vector<Message *> *expected, Message **out) {
    *out = nullptr;
    const bool sent = frame.call.kind == kPointToPoint, direct = mine.kind == kPointToPoint;
    if (sent && !direct) return {};  // its receive comes later
    // The peer's next collective, unless this rank still expects a send before it.
    const bool waits = direct && !expected->empty();
    // It is ahead, even across a wrap at 2^32 operations.
    if (!sent && !waits && int32_t(frame.call.number - mine.number) > 0) return {};
    if (!sent && frame.call != mine) {
        return {
            RINGRT_MISMATCH,
            format_text("rank %d calls %s (its operation %u) where %s calls %s (its operation %u): "
                        "all ranks must call the same operations in the same order",
                        self.rank, describe(mine).c_str(), mine.number, self.name_of(rank).c_str(),
                        describe(frame.call).c_str(), frame.call.number),
            rank};
    }
    auto found = std::find_if(expected->begin(), expected->end(), [&](const Message *each) {
        return each->segment == frame.segment && each->slot == frame.slot;
    });
    if (found == expected->end()) return {};
    if ((*found)->bytes() != frame.bytes)
        return other_size(self, rank, frame.bytes, (*found)->bytes(), mine);
    *out = *found;
    expected->erase(found);
    return {};
}

WaitChain::WaitChain(const RankContext &self) : self_(self), period_(report_period(self)) {}

bool WaitChain::due(int blame) {
    const auto now = Clock::now();
    if (now - moved_ < period_) return false;
    const auto pause = blame == told_blame_ ? period_ : period_ / 20;
    if (now - told_ < pause) return false;
    told_ = now;
    told_blame_ = blame;
    return true;
}

void WaitChain::heard(int rank, uint32_t waits_for) {
    bool known = waits_for < uint32_t(self_.size);
    news_[rank] = {Clock::now(), known ? int(waits_for) : -1};
}

int WaitChain::blame(int peer) const {
    // News younger than two periods means that the rank is alive.
    auto oldest = Clock::now() - 2 * period_ - std::chrono::milliseconds(kLongSliceMs);
    for (int hops = 0; peer >= 0 && hops < self_.size; ++hops) {
        const auto news = news_.find(peer);
        if (news == news_.end() || news->second.when < oldest || news->second.waits_for < 0 ||
            news->second.waits_for == self_.rank)
            break;
        peer = news->second.waits_for;
    }
    return peer;
}

}  // namespace ringrt
