// SPDX-License-Identifier: BSD-3-Clause
// `ringstat check`: parses malleable.yaml with the plugin's own parser.
#pragma once

#include "tools/ringstat/options.h"

namespace ringrt::ringstat {

[[nodiscard]] int check_config(const Options &options);

}  // namespace ringrt::ringstat
