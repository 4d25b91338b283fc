// SPDX-License-Identifier: BSD-3-Clause
// ringstat detach: hands every malleable job back to Slurm, and waits until that is done.
#pragma once

#include "tools/ringstat/options.h"

namespace ringrt::ringstat {

[[nodiscard]] int detach(const Options &options);

}  // namespace ringrt::ringstat
