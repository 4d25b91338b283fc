// SPDX-License-Identifier: GPL-2.0-or-later
// The options of the sbatch or srun that this plugin runs in. The programs export `opt`, and
// libslurmfull these functions, with the same parameters from 22.05 to 26.05. No public header
// declares them.
#pragma once

#include <dlfcn.h>

#include <optional>
#include <string>

#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {

template <typename Function>
Function function_of_program(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

inline void *options_of_program() { return dlsym(RTLD_DEFAULT, "opt"); }

// nullopt: not given, or not known here.
inline std::optional<std::string> option_of_program(const char *name) {
    void *options = options_of_program();
    const auto is_set = function_of_program<bool (*)(void *, const char *)>("slurm_option_isset");
    const auto get = function_of_program<char *(*)(void *, const char *)>("slurm_option_get");
    if (options == nullptr || is_set == nullptr || get == nullptr || !is_set(options, name))
        return std::nullopt;
    char *value = get(options, name);
    std::string text = value != nullptr ? value : "";
    slurm_xfree(reinterpret_cast<void **>(&value));
    return text;
}

inline void set_option_of_program(const char *name, const std::string &value) {
    const auto set =
        function_of_program<int (*)(void *, const char *, const char *, bool)>("slurm_option_set");
    if (set != nullptr) set(options_of_program(), name, value.c_str(), false);
}

}  // namespace ringrt::slurm
