// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's response times by kind of call, for `ringstat diag`.
#pragma once

#include <slurm/slurm_errno.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace ringrt::slurm {

enum class Call : uint8_t {
    load_jobs,
    load_job,
    load_nodes,
    load_partitions,
    load_steps,
    update_job,
    signal,
    requeue,
    list_pids,
    complete,
    load_limits,
    load_reservations,
    submit,
    will_run,
};

inline constexpr std::array<std::string_view, 14> kCallNames{
    "load_jobs", "load_job", "load_nodes", "load_partitions", "load_steps",  "update_job",
    "signal",    "requeue",  "list_pids",  "complete",        "load_limits", "load_reservations",
    "submit",    "will_run"};

class ApiTimes {
  public:
    struct Entry {
        uint64_t calls = 0, failed = 0;
        double total_ms = 0, worst_ms = 0, last_ms = 0;
    };

    // Runs `work`, which returns 0 on success, as Slurm's functions do.
    template <typename Work>
    int time(Call call, Work work) {
        const auto began = std::chrono::steady_clock::now();
        const int rc = work();
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - began;
        Entry &entry = entries_[static_cast<std::size_t>(call)];
        ++entry.calls;
        entry.failed += rc != 0 && errno != SLURM_NO_CHANGE_IN_DATA;
        entry.last_ms = took.count();
        entry.total_ms += entry.last_ms;
        entry.worst_ms = std::max(entry.worst_ms, entry.last_ms);
        return rc;
    }

    [[nodiscard]] const std::array<Entry, kCallNames.size()> &entries() const { return entries_; }
    [[nodiscard]] const Entry &of(Call call) const {
        return entries_[static_cast<std::size_t>(call)];
    }

  private:
    std::array<Entry, kCallNames.size()> entries_{};
};

}  // namespace ringrt::slurm
