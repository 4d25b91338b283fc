// SPDX-License-Identifier: BSD-3-Clause
// `ringstat acct`: runs sacct and shows each training as one unit.
#pragma once

#include "tools/ringstat/options.h"

namespace ringrt::ringstat {

[[nodiscard]] int show_accounting(const Options &options);

}  // namespace ringrt::ringstat
