// SPDX-License-Identifier: BSD-3-Clause
// Which incarnation may write a job's checkpoints. PURE: file names hold all the data and their
// order.
//
// An incarnation claims the directory with an empty file `fence-<number>-<job>-<restart>-<nonce>`,
// where number is one more than the largest there. No claim overwrites another, so two concurrent
// claims cannot hide each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::checkpoint {

struct Fence {
    uint64_t job = 0;      // 0: outside Slurm
    uint32_t restart = 0;  // SLURM_RESTART_COUNT
    uint64_t nonce = 0;    // random

    bool operator==(const Fence &) const = default;
};

struct Claim {
    uint64_t number = 0;
    Fence fence;

    bool operator==(const Claim &) const = default;
};

[[nodiscard]] std::string claim_name(const Claim &claim);
[[nodiscard]] std::optional<Claim> parse_claim_name(std::string_view name);
[[nodiscard]] std::vector<Claim> claims_in(const std::vector<std::string> &names);

// Between claims of one job, the higher restart count wins. Otherwise the later claim wins.
[[nodiscard]] bool supersedes(const Claim &one, const Claim &other);

}  // namespace ringrt::checkpoint
