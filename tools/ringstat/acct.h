// SPDX-License-Identifier: BSD-3-Clause
// `ringstat acct`: asks sacct, and shows each training as one.
#pragma once

#include "tools/ringstat/options.h"

namespace ringrt::ringstat {

[[nodiscard]] int show_accounting(const Options &options);

}  // namespace ringrt::ringstat
