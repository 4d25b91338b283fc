// SPDX-License-Identifier: GPL-2.0-or-later
// The facts that ringrtd publishes to job_submit/malleable, which runs in another process and under
// slurmctld's locks: two small files on tmpfs, renamed into place. FILE holds the partitions and
// the soft hold, and is read at each submission of a malleable job. FILE.intents holds the record
// of each malleable job, and is read when an administrator changes an AdminComment. Both are
// treated as untrusted input. If a file is missing or old, there is no hold and no fact: the job
// starts as in stock Slurm.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "slurm_plugin/slurm/host/sched_view.h"

namespace ringrt::slurm {

inline constexpr char kFactsPath[] = "/run/ringrt/facts";
inline constexpr char kFactsVariable[] = "RINGRT_FACTS";  // environment variable with another path
inline constexpr std::size_t kFactsBytesMax = 64 << 10, kIntentsBytesMax = 4 << 20;
inline constexpr double kFactsMaxAge_s = 30;
inline constexpr int kHoldMax_s = 3600, kGpusInAllMax = 1 << 20;

struct SubmitFacts {
    struct Partition {
        int32_t gpus_in_all = 0, gpus_per_node = 0, nodes = 0;
        bool is_default = false, whole_nodes = false;

        bool operator==(const Partition &) const = default;
    };
    double at_s = 0;  // by CLOCK_BOOTTIME, which is never stepped
    int32_t hold_s = 0;
    std::map<std::string, Partition, std::less<>> partitions;

    bool operator==(const SubmitFacts &) const = default;
};

// Partitions that do not fit, and invalid names, are left out.
[[nodiscard]] std::string format_facts(const SubmitFacts &facts);
[[nodiscard]] std::optional<SubmitFacts> parse_facts(std::string_view text);
// By name; empty: the default partition. Always contains the hold.
[[nodiscard]] RingrtPartitionView view_in(const SubmitFacts &facts, std::string_view partition);

[[nodiscard]] std::string format_intents(const std::map<std::string, std::string> &records);
// `job`: a name of known_intents().
[[nodiscard]] std::optional<std::string> intent_in(std::string_view text, std::string_view job);

[[nodiscard]] double boottime_s();
// Reads only a regular file of at most `bytes_max`, owned by root or `owner`, and writable only by
// its owner.
[[nodiscard]] std::optional<std::string> read_trusted(const std::string &path,
                                                      std::size_t bytes_max, uid_t owner);
// nullopt: missing, untrusted, incomplete, or older than kFactsMaxAge_s.
[[nodiscard]] std::optional<SubmitFacts> read_facts(const std::string &path, uid_t owner);

}  // namespace ringrt::slurm
