// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/moving_rows.h"

#include <algorithm>
#include <utility>

#include "libringrt/live/buffer_rows.h"

namespace ringrt::live {
namespace {

using checkpoint::Buffer;

Buffer empty(const checkpoint::Parameter &parameter) {
    Buffer out{.parameter = parameter};
    hold_block(out, checkpoint::rows_block(parameter.shape, 0, 0));
    return out;
}

}  // namespace

MovingRows::~MovingRows() {
    for (Matrix &matrix : matrices_) {
        if (matrix.is_fresh) release(matrix, matrix.fresh);
        if (matrix.is_held) release(matrix, matrix.held);
    }
}

Status MovingRows::add(const checkpoint::Parameter &parameter, const RowCalls &calls, int rank,
                       int size) {
    Matrix matrix{.calls = calls, .held = empty(parameter), .fresh = empty(parameter)};
    Status added;
    if (size > 0) {
        added = place_one(matrix, rank, size);
        matrix.held = std::exchange(matrix.fresh, empty(parameter));
        matrix.is_held = std::exchange(matrix.is_fresh, false);
    }
    if (added.ok()) added = registry_.add(matrix.held);
    if (!added.ok()) {
        if (matrix.is_held) release(matrix, matrix.held);
        return added;
    }
    placed_for_ = static_cast<uint32_t>(size);
    const auto at = std::ranges::find_if(
        matrices_, [&](const Matrix &other) { return parameter.name < other.held.parameter.name; });
    matrices_.insert(at, std::move(matrix));
    return {};
}

const Buffer *MovingRows::find(const std::string &name) const {
    for (const Matrix &matrix : matrices_)
        if (matrix.held.parameter.name == name) return &matrix.held;
    return nullptr;
}

void MovingRows::release(const Matrix &matrix, const Buffer &buffer) {
    matrix.calls.release(matrix.calls.context, buffer.data);
}

Status MovingRows::place_one(Matrix &matrix, int rank, int size) {
    const checkpoint::Parameter &parameter = matrix.held.parameter;
    ringrt_rows_t rows = {};
    if (matrix.calls.place(matrix.calls.context, rank, size, &rows) != 0)
        return {RINGRT_SYSTEM_ERROR,
                format_text("the program could not place the rows of buffer %s for rank %d of %d",
                            parameter.name.c_str(), rank, size)};
    Buffer fresh{.parameter = parameter, .data = static_cast<std::byte *>(rows.data)};
    const uint64_t most = parameter.shape[0];
    const bool fits = rows.first <= most && rows.count <= most - rows.first;
    hold_block(fresh, checkpoint::rows_block(parameter.shape, fits ? rows.first : 0,
                                             fits ? rows.count : 0));
    matrix.fresh = std::move(fresh), matrix.is_fresh = true;
    if (!fits || (!rows.data && matrix.fresh.bytes > 0))
        return {RINGRT_INVALID_ARGUMENT,
                format_text("the program placed the rows of buffer %s outside its first extent, or "
                            "at NULL",
                            parameter.name.c_str())};
    return registry_.find_device(matrix.fresh);
}

Status MovingRows::place(int rank, int size) {
    for (Matrix &matrix : matrices_) RINGRT_TRY(place_one(matrix, rank, size));
    return {};
}

// Ok if every rank's placing succeeded, and old and new rows tile each matrix.
Status MovingRows::gather_spans(Communicator &over, const Status &mine,
                                std::vector<Spans> &out) const {
    RINGRT_TRY(agree(over, mine, "a rank could not place its rows"));
    std::vector<RowSpan> own;
    for (const Matrix &matrix : matrices_) {
        own.push_back(span_of(matrix.held));
        own.push_back(span_of(matrix.fresh));
    }
    const auto ranks = static_cast<size_t>(over.size());
    std::vector<RowSpan> all(ranks * own.size());
    RINGRT_TRY(over.outcome(over.all_gather(own.data(), all.data(), own.size() * sizeof(RowSpan))));
    out.resize(matrices_.size());
    for (size_t m = 0; m < matrices_.size(); ++m) {
        for (size_t rank = 0; rank < ranks; ++rank) {
            out[m].held.push_back(all[rank * own.size() + 2 * m]);
            out[m].fresh.push_back(all[rank * own.size() + 2 * m + 1]);
        }
        RINGRT_TRY(check_spans(matrices_[m].held.parameter, out[m].held));
        RINGRT_TRY(check_spans(matrices_[m].held.parameter, out[m].fresh));
    }
    return {};
}

Status MovingRows::exchange(Communicator &over, const std::vector<Spans> &spans) const {
    std::vector<RowLeg> legs;
    for (size_t m = 0; m < matrices_.size(); ++m) {
        const Matrix &matrix = matrices_[m];
        for (const RowPart &part : parts_of(spans[m].held, spans[m].fresh, over.rank())) {
            RowLeg leg{.peer = part.peer, .bytes = part.count * row_bytes(matrix.held.parameter)};
            if (part.send) leg.from = place_of(matrix.held, {part.first, part.count});
            if (part.receive) leg.to = place_of(matrix.fresh, {part.first, part.count});
            legs.push_back(leg);
        }
    }
    return exchange_rows(over, legs);
}

Status MovingRows::move(Communicator &over, int size, bool agrees) {
    if (!any()) return {};
    discard();
    const Status placed = over.rank() < size ? place(over.rank(), size) : Status{};
    std::vector<Spans> spans;
    Status moved = gather_spans(over, placed, spans);
    if (!moved.ok()) return moved;
    moved = exchange(over, spans);
    if (moved.code == RINGRT_PEER_LOST || moved.code == RINGRT_TIMEOUT || !agrees) return moved;
    return agree(over, moved, "a rank could not send or take rows");
}

Status MovingRows::replace_all(int rank, int size) {
    drop();
    RINGRT_TRY(place(rank, size));
    adopt(0);
    return {};
}

void MovingRows::adopt(int size) {
    for (Matrix &matrix : matrices_) {
        if (!matrix.is_fresh) continue;
        const Buffer old = std::exchange(matrix.held, std::exchange(matrix.fresh, Buffer()));
        matrix.fresh = empty(old.parameter);
        matrix.is_fresh = false;
        registry_.replace(matrix.held);
        if (std::exchange(matrix.is_held, true)) release(matrix, old);
    }
    placed_for_ = static_cast<uint32_t>(size);
}

void MovingRows::discard() {
    for (Matrix &matrix : matrices_) {
        if (!std::exchange(matrix.is_fresh, false)) continue;
        release(matrix, matrix.fresh);
        matrix.fresh = empty(matrix.held.parameter);
    }
}

void MovingRows::drop() {
    discard();
    for (Matrix &matrix : matrices_) {
        if (!std::exchange(matrix.is_held, false)) continue;
        release(matrix, matrix.held);
        matrix.held = empty(matrix.held.parameter);
        registry_.replace(matrix.held);
    }
    placed_for_ = 0;
}

}  // namespace ringrt::live
