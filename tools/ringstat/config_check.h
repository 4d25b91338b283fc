// SPDX-License-Identifier: BSD-3-Clause
// `ringstat check`: malleable.yaml, read by the plugin's own parser.
#pragma once

#include "tools/ringstat/options.h"

namespace ringrt::ringstat {

[[nodiscard]] int check_config(const Options &options);

}  // namespace ringrt::ringstat
