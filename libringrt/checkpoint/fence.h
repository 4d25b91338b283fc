// SPDX-License-Identifier: BSD-3-Clause
// Who may write a job's checkpoints. PURE: files whose names say all, and the order between them.
//
// An incarnation claims the folder by an empty file `fence-<number>-<job>-<restart>-<nonce>`, where
// number is one more than the largest there. There is nothing to overwrite, so two claims at once
// cannot hide one another.
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

// Of one job the higher restart count wins, whoever claimed last; else who claimed last.
[[nodiscard]] bool supersedes(const Claim &one, const Claim &other);

}  // namespace ringrt::checkpoint
