// SPDX-License-Identifier: BSD-3-Clause
// The rows of a registered buffer that a rank holds. A buffer that is not divided has its bytes for
// rows: each rank holds all.
#pragma once

#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/collective/communicator.h"
#include "libringrt/live/row_exchange.h"

namespace ringrt::live {

[[nodiscard]] uint64_t rows_in(const checkpoint::Parameter &parameter);
[[nodiscard]] uint64_t row_bytes(const checkpoint::Parameter &parameter);
[[nodiscard]] RowSpan span_of(const checkpoint::Buffer &buffer);
// The memory of these rows, which are of the buffer's.
[[nodiscard]] Place place_of(const checkpoint::Buffer &buffer, const RowSpan &rows);
// MISMATCH if the spans, one per rank, do not tile a buffer that is divided.
Status check_spans(const checkpoint::Parameter &parameter, const std::vector<RowSpan> &spans);

// Collective. Ok if all ranks are; the failure here, or else `elsewhere`.
Status agree(Communicator &over, const Status &mine, const char *elsewhere);

}  // namespace ringrt::live
