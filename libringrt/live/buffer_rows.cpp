// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/buffer_rows.h"

namespace ringrt::live {

using checkpoint::Buffer;
using checkpoint::Parameter;

uint64_t rows_in(const Parameter &parameter) {
    return parameter.sharded ? parameter.shape[0] : bytes_of(parameter);
}

uint64_t row_bytes(const Parameter &parameter) {
    if (!parameter.sharded) return 1;
    const uint64_t rows = parameter.shape[0];
    return rows > 0 ? bytes_of(parameter) / rows : 0;
}

RowSpan span_of(const Buffer &buffer) {
    if (!buffer.parameter.sharded) return {0, buffer.bytes};
    return {buffer.block.offset[0], buffer.block.extent[0]};
}

Place place_of(const Buffer &buffer, const RowSpan &rows) {
    const uint64_t each = row_bytes(buffer.parameter);
    return {.data = buffer.data + (rows.first - span_of(buffer).first) * each,
            .bytes = rows.count * each,
            .on_device = buffer.device ? &buffer : nullptr};
}

Status check_spans(const Parameter &parameter, const std::vector<RowSpan> &spans) {
    std::vector<checkpoint::Block> blocks;
    for (const RowSpan &span : spans)
        blocks.push_back(checkpoint::rows_block(parameter.shape, span.first, span.count));
    return check_blocks(parameter.name, parameter.shape, blocks);
}

Status agree(Communicator &over, const Status &mine, const char *elsewhere) {
    uint8_t failed = mine.ok() ? 0 : 1, any = 0;
    RINGRT_TRY(over.outcome(over.largest(&failed, &any, 1)));
    if (!mine.ok() || any == 0) return mine;
    return {RINGRT_MISMATCH, elsewhere};
}

}  // namespace ringrt::live
