// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/state_copies.h"

#include <algorithm>
#include <new>

#include "libringrt/live/buffer_rows.h"

namespace ringrt::live {
namespace {

constexpr uint64_t kPartsMax = uint64_t{1} << 26;

}  // namespace

StateCopies::Copy &StateCopies::older() {
    Copy &first = copies_[0], &second = copies_[1];
    if (!first.complete || !second.complete) return first.complete ? second : first;
    return first.position.step <= second.position.step ? first : second;
}

// The rows of each buffer at all ranks.
Status StateCopies::gather_held(Communicator &over, std::vector<std::vector<RowSpan>> &out) const {
    const size_t ranks = static_cast<size_t>(over.size()), buffers = buffers_.size();
    std::vector<RowSpan> own, all(ranks * buffers);
    for (const checkpoint::Buffer &buffer : buffers_) own.push_back(span_of(buffer));
    RINGRT_TRY(over.outcome(over.all_gather(own.data(), all.data(), buffers * sizeof(RowSpan))));
    out.assign(buffers, {});
    for (size_t i = 0; i < buffers; ++i) {
        for (size_t rank = 0; rank < ranks; ++rank) out[i].push_back(all[rank * buffers + i]);
        if (buffers_[i].parameter.sharded) RINGRT_TRY(check_spans(buffers_[i].parameter, out[i]));
    }
    return {};
}

void StateCopies::lay_out(const std::vector<std::vector<RowSpan>> &held, int base,
                          Copy &copy) const {
    copy.parts.clear();
    for (uint32_t i = 0; i < buffers_.size(); ++i) {
        const checkpoint::Parameter &parameter = buffers_[i].parameter;
        for (const CopyPart &part : parameter.sharded
                                        ? copies_of_rows(i, held[i], base)
                                        : copies_of_whole(i, rows_in(parameter), base))
            copy.parts.push_back(part);
    }
}

uint64_t StateCopies::bytes_of_part(const CopyPart &part) const {
    return part.count * row_bytes(buffers_[part.buffer].parameter);
}

// The memory of an earlier copy is used again: new memory costs a page fault per page, at each
// join.
Status StateCopies::reserve(Copy &copy, int rank) const {
    uint64_t bytes = 0;
    for (const CopyPart &part : copy.parts)
        if (part.to == rank) bytes += bytes_of_part(part);
    if (bytes <= copy.bytes) return {};
    copy.memory.reset();
    copy.bytes = 0;
    try {
        copy.memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
    } catch (const std::bad_alloc &) {
        return {RINGRT_NO_MEMORY, "no memory for a copy of the ranks' rows"};
    }
    copy.bytes = bytes;
    return {};
}

// Rank 0's state, in memory that is used again.
Status StateCopies::pack(Copy &copy) const {
    std::vector<ringrt_piece_t> pieces;
    RINGRT_TRY(program_.pieces(pieces));
    size_t bytes = 0;
    for (const ringrt_piece_t &piece : pieces) bytes += piece.bytes;
    try {
        copy.packed.clear();
        copy.packed.reserve(bytes);
    } catch (const std::exception &) {
        return {RINGRT_NO_MEMORY, "no memory for a copy of the program's state"};
    }
    for (const ringrt_piece_t &piece : pieces) {
        const auto *data = static_cast<const std::byte *>(piece.data);
        copy.packed.insert(copy.packed.end(), data, data + piece.bytes);
    }
    return {};
}

std::vector<RowLeg> StateCopies::legs_of(const Copy &copy, int rank) const {
    std::vector<RowLeg> out;
    std::byte *kept = copy.memory.get();
    for (const CopyPart &part : copy.parts) {
        if (part.from != rank && part.to != rank) continue;
        RowLeg leg{.peer = part.from == rank ? part.to : part.from, .bytes = bytes_of_part(part)};
        if (part.from == rank) leg.from = place_of(buffers_[part.buffer], {part.first, part.count});
        if (part.to == rank) {
            leg.to = {.data = kept, .bytes = leg.bytes};
            kept += leg.bytes;
        }
        out.push_back(leg);
    }
    return out;
}

Status StateCopies::take(Communicator &over, int base, const Position &position) {
    Copy &copy = older();
    copy.complete = false;
    tried_step_ = position.step;
    std::vector<std::vector<RowSpan>> held;
    RINGRT_TRY(gather_held(over, held));
    lay_out(held, base, copy);
    Status ready = reserve(copy, over.rank());
    if (ready.ok() && over.rank() == 0) ready = pack(copy);
    RINGRT_TRY(agree(over, ready, "a rank could not make its part of a copy"));
    const Status copied = exchange_rows(over, legs_of(copy, over.rank()));
    if (copied.code == RINGRT_PEER_LOST || copied.code == RINGRT_TIMEOUT) return copied;
    RINGRT_TRY(agree(over, copied, "a rank could not copy its rows"));
    copy.position = position;
    copy.complete = over.rank() < base;
    return {};
}

void StateCopies::add_to(Position &position) const {
    for (size_t i = 0; i < copies_.size(); ++i)
        position.copies[i] = copies_[i].complete ? copies_[i].position.step : kNoStep;
}

// Ranks of an extension, if any, know neither the copy's parts nor its position.
Status StateCopies::tell(Communicator &over, Copy &copy) const {
    uint64_t parts = copy.parts.size();
    RINGRT_TRY(over.outcome(over.broadcast(&parts, sizeof parts, 0)));
    RINGRT_TRY(over.outcome(over.broadcast(&copy.position, sizeof copy.position, 0)));
    if (parts > kPartsMax) return {RINGRT_MISMATCH, "the base sent an invalid state"};
    copy.parts.resize(parts);
    return over.outcome(over.broadcast(copy.parts.data(), parts * sizeof(CopyPart), 0));
}

std::vector<RowLeg> StateCopies::legs_of_return(const Copy &copy,
                                                const std::vector<std::vector<RowSpan>> &held,
                                                int rank) const {
    std::vector<uint64_t> starts;  // of this rank's parts in its memory
    uint64_t kept = 0;
    for (const CopyPart &part : copy.parts) {
        starts.push_back(kept);
        if (part.to == rank) kept += bytes_of_part(part);
    }
    std::vector<RowLeg> out;
    for (const ReturnLeg &each : legs_back(copy.parts, held, rank)) {
        const CopyPart &part = copy.parts[each.part];
        const checkpoint::Buffer &buffer = buffers_[part.buffer];
        const uint64_t row = row_bytes(buffer.parameter);
        RowLeg leg{.peer = part.to == rank ? each.receiver : part.to,
                   .bytes = each.rows.count * row};
        if (part.to == rank)
            leg.from = {.data = copy.memory.get() + starts[each.part] +
                                (each.rows.first - part.first) * row,
                        .bytes = leg.bytes};
        if (each.receiver == rank) leg.to = place_of(buffer, each.rows);
        out.push_back(leg);
    }
    return out;
}

// The program takes at all ranks what it packed at rank 0.
Status StateCopies::give_packed(Communicator &over, Copy &copy) const {
    std::vector<std::byte> room;
    std::vector<std::byte> &packed = over.rank() == 0 ? copy.packed : room;
    uint64_t bytes = packed.size();
    RINGRT_TRY(over.outcome(over.broadcast(&bytes, sizeof bytes, 0)));
    Status mine;
    try {
        packed.resize(bytes);
    } catch (const std::exception &) {
        mine = {RINGRT_NO_MEMORY, "no memory for the program's state"};
    }
    RINGRT_TRY(agree(over, mine, "a rank has no memory for the program's state"));
    const std::vector<Place> all = {{.data = packed.data(), .bytes = bytes}};
    RINGRT_TRY(over.rank() == 0 ? send_state(over, all) : receive_state(over, 0, all));
    return agree(over, program_.take(packed), "a rank could not take the program's state");
}

Status StateCopies::give_back(Communicator &over, uint64_t step, Position &position) {
    Copy none;
    Copy *copy = &none;
    for (Copy &each : copies_)
        if (each.complete && each.position.step == step) copy = &each;
    RINGRT_TRY(tell(over, *copy));
    std::vector<std::vector<RowSpan>> held;
    RINGRT_TRY(gather_held(over, held));
    const Status filled = exchange_rows(over, legs_of_return(*copy, held, over.rank()));
    if (filled.code == RINGRT_PEER_LOST || filled.code == RINGRT_TIMEOUT) return filled;
    RINGRT_TRY(agree(over, filled, "a rank could not take its rows from a copy"));
    if (program_) RINGRT_TRY(give_packed(over, *copy));
    position = copy->position;
    return {};
}

void StateCopies::keep_only(uint64_t step) {
    for (Copy &copy : copies_) copy.complete = copy.complete && copy.position.step == step;
    tried_step_ = step;
}

void StateCopies::clear() {
    for (Copy &copy : copies_) copy.complete = false;
    tried_step_ = kNoStep;
}

}  // namespace ringrt::live
