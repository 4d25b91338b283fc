// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/patience.h"

namespace ringrt {

std::string World::name_of(int peer) const {
    std::string name = "rank " + std::to_string(peer);
    if (peer >= 0 && size_t(peer) < hosts.size()) name += " on " + hosts[size_t(peer)];
    return name;
}

Patience::Patience(const World &world, const char *phase, uint32_t timeout_ms)
    : world_(world), phase_(phase), timeout_ms_(timeout_ms) {}

int64_t Patience::waited_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_).count();
}

Status Patience::check(int peer) {
    if (world_.aborted.load(std::memory_order_relaxed)) {
        return {RINGRT_ABORTED, format_line("rank %d: aborted during %s", world_.rank, phase_),
                world_.rank};
    }
    int64_t waited = waited_ms();
    std::string who = peer < 0 ? "other ranks" : world_.name_of(peer);
    if (waited >= timeout_ms_) {
        return {
            RINGRT_TIMEOUT,
            format_line("rank %d: %s did not answer for %.1f s during %s; is it stopped, or its "
                        "node unreachable?",
                        world_.rank, who.c_str(), double(waited) / 1e3, phase_),
            peer};
    }
    if (waited >= next_warning_ms_) {
        next_warning_ms_ *= 2;
        world_.warn(format_line(
            "rank %d: %s has been silent for %.0f s during %s (gives up after "
            "%.0f s)",
            world_.rank, who.c_str(), double(waited) / 1e3, phase_, double(timeout_ms_) / 1e3));
    }
    return {};
}

}  // namespace ringrt
