// SPDX-License-Identifier: BSD-3-Clause
// reduce() for the types of one byte. A file of its own, so that it is compiled in parallel with
// the others.
#pragma once

#include "libringrt/reduce/reduce.h"

namespace ringrt::detail {

void reduce_bytes(const Reduction &work);  // of a dtype of one byte

}  // namespace ringrt::detail
