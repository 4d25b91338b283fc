// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/deadline.h"

namespace ringrt {

std::string RankContext::name_of(int peer) const {
    std::string name = "rank " + std::to_string(peer);
    if (peer >= 0 && size_t(peer) < host_of_rank.size())
        name += " on " + hosts[host_of_rank[size_t(peer)]];
    return name;
}

Deadline::Deadline(const RankContext &self, const char *phase, uint32_t timeout_ms)
    : self_(self), phase_(phase), timeout_ms_(timeout_ms) {}

int64_t Deadline::waited_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_).count();
}

Status Deadline::check(int peer) {
    if (self_.aborted.load(std::memory_order_relaxed)) {
        return {RINGRT_ABORTED, format_text("rank %d: aborted during %s", self_.rank, phase_),
                self_.rank};
    }
    const auto now = Clock::now();
    if (now - looked_ > kStopped) start_ += now - looked_;
    looked_ = now;
    int64_t waited = waited_ms();
    std::string who = peer < 0 ? "other ranks" : self_.name_of(peer);
    if (waited >= timeout_ms_) {
        return {
            RINGRT_TIMEOUT,
            format_text("rank %d: %s did not answer for %.1f s during %s; is it stopped, or its "
                        "node unreachable?",
                        self_.rank, who.c_str(), double(waited) / 1e3, phase_),
            peer};
    }
    if (waited >= next_warning_ms_) {
        next_warning_ms_ *= 2;
        self_.warn(format_text(
            "rank %d: %s has been silent for %.0f s during %s (gives up after "
            "%.0f s)",
            self_.rank, who.c_str(), double(waited) / 1e3, phase_, double(timeout_ms_) / 1e3));
    }
    return {};
}

}  // namespace ringrt
