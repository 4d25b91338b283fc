// SPDX-License-Identifier: BSD-3-Clause
// The Slurm version for which a plugin was built, read from the file: nothing is loaded or run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ringrt::check {

// As in <slurm/slurm_version.h>: major, minor and micro release in three bytes.
struct SlurmVersion {
    uint32_t number = 0;

    [[nodiscard]] std::string text() const;   // 22.05.8
    [[nodiscard]] std::string minor() const;  // 22.05
    bool operator==(const SlurmVersion &) const = default;
};

// The variable plugin_version of a shared object. nullopt: `error` has the reason.
[[nodiscard]] std::optional<SlurmVersion> plugin_version(const std::string &path,
                                                         std::string &error);

}  // namespace ringrt::check
