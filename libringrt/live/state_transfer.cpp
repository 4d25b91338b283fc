// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/state_transfer.h"

#include <algorithm>

namespace ringrt::live {
namespace {

// A rank's result of its part.
enum class Have : uint8_t { nothing, all, unusable };

// The worst result of all ranks.
Status gather_worst(Communicator &over, Have mine, Have *worst) {
    std::vector<Have> all(static_cast<size_t>(over.size()));
    RINGRT_TRY(over.outcome(over.all_gather(&mine, all.data(), sizeof mine)));
    auto has = [&](Have one) { return std::find(all.begin(), all.end(), one) != all.end(); };
    *worst = has(Have::unusable) ? Have::unusable : has(Have::nothing) ? Have::nothing : Have::all;
    return {};
}

Status unusable_somewhere() { return {RINGRT_MISMATCH, "a rank could not send or take the state"}; }

}  // namespace

void StateTransfer::find_whole() {
    buffers_.clear();
    for (const checkpoint::Buffer &buffer : all_buffers_)
        if (!buffer.parameter.sharded) buffers_.push_back(buffer);
}

void StateTransfer::touch() {
    find_whole();
    constexpr uint64_t kPage = 4096;
    for (const checkpoint::Buffer &buffer : buffers_)
        for (uint64_t at = 0; at < buffer.bytes && !buffer.device; at += kPage) {
            auto *byte = reinterpret_cast<volatile std::byte *>(buffer.data + at);
            *byte = *byte;
        }
}

// The buffers in name order, then what the program packed.
Status StateTransfer::pack() {
    pieces_.clear();
    for (const checkpoint::Buffer &buffer : buffers_)
        pieces_.push_back(
            {buffer.device ? 0 : reinterpret_cast<uint64_t>(buffer.data), buffer.bytes});
    std::vector<ringrt_piece_t> packed;
    RINGRT_TRY(program_.pieces(packed));
    for (const ringrt_piece_t &piece : packed)
        pieces_.push_back({reinterpret_cast<uint64_t>(piece.data), piece.bytes});
    return {};
}

Status StateTransfer::unpack() {
    Status taken = program_.take(room_);
    room_ = {};
    return taken;
}

Status StateTransfer::tell_pieces(Communicator &over, int root) {
    Beginning beginning;
    Status packed;
    if (over.rank() == root) {
        packed = pack();
        beginning = {.pieces = pieces_.size(), .packed = packed.ok()};
    }
    RINGRT_TRY(over.outcome(over.broadcast(&beginning, sizeof beginning, root)));
    RINGRT_TRY(packed);
    if (!beginning.packed)
        return {RINGRT_MISMATCH, "the rank that has the state could not pack it"};
    if (beginning.pieces > kPiecesMax + buffers_.size() || beginning.pieces < buffers_.size())
        return {RINGRT_MISMATCH, "the base sent an invalid state"};
    pieces_.resize(beginning.pieces);
    return over.outcome(over.broadcast(pieces_.data(), pieces_.size() * sizeof(Piece), root));
}

Status StateTransfer::check_sizes() const {
    for (size_t i = 0; i < buffers_.size(); ++i)
        if (pieces_[i].bytes != buffers_[i].bytes)
            return {RINGRT_MISMATCH, "the base's buffers have other sizes"};
    return {};
}

// Bytes of the pieces that are not registered buffers.
uint64_t StateTransfer::room_bytes() const {
    uint64_t bytes = 0;
    for (size_t i = buffers_.size(); i < pieces_.size(); ++i) bytes += pieces_[i].bytes;
    return bytes;
}

// The pieces' sources at the sender, or their destinations here.
std::vector<Place> StateTransfer::places(bool at_sender) {
    std::vector<Place> out;
    for (const checkpoint::Buffer &buffer : buffers_)
        out.push_back({buffer.data, buffer.bytes, buffer.device ? &buffer : nullptr});
    std::byte *room = room_.data();  // null if this rank has the state
    for (size_t i = buffers_.size(); i < pieces_.size(); ++i) {
        auto *packed = reinterpret_cast<std::byte *>(pieces_[i].address);
        out.push_back({at_sender ? packed : room, pieces_[i].bytes});
        if (room) room += pieces_[i].bytes;
    }
    return out;
}

bool StateTransfer::is_on_gpu() const {
    for (size_t i = 0; i < buffers_.size(); ++i)
        if (buffers_[i].device || (pieces_[i].address == 0 && pieces_[i].bytes > 0)) return true;
    return false;
}

Status StateTransfer::read(const PeerProcess &sender) {
    RINGRT_TRY(check_sizes());
    if (is_on_gpu()) return {RINGRT_UNSUPPORTED, ""};  // the caller sends it instead
    room_.resize(room_bytes());
    const std::vector<Place> to = places(false);
    for (size_t i = 0; i < pieces_.size(); ++i)
        if (!read_from(sender, pieces_[i].address, {to[i].data, to[i].bytes}))
            return {RINGRT_UNSUPPORTED, ""};
    return {};
}

// All take part; a rank that has the state keeps its own.
Status StateTransfer::send(Communicator &over, int root, bool receives) {
    if (over.rank() == root) return send_state(over, places(true));
    RINGRT_TRY(check_sizes());
    room_ = {};
    if (!receives) return pass_state_on(over, root, places(false));
    room_.resize(room_bytes());
    RINGRT_TRY(receive_state(over, root, places(false)));
    return unpack();
}

// A broadcast piece by piece makes ranks on a busy node wait for each other, so ranks that can read
// the sender's memory do. Each rank unpacks before any rank continues: if the state does not fit,
// the join is called off and nothing has changed.
Status StateTransfer::to_joiners(Communicator &over, const PeerProcess &sender, bool joins) {
    find_whole();
    RINGRT_TRY(tell_pieces(over, 0));
    Have have = joins ? Have::nothing : Have::all;
    Status mine;
    if (joins && is_readable(sender)) {
        mine = read(sender);
        if (mine.ok()) mine = unpack(), have = mine.ok() ? Have::all : Have::unusable;
        if (mine.code == RINGRT_MISMATCH) have = Have::unusable;
    }
    Have worst = Have::nothing;
    RINGRT_TRY(gather_worst(over, have, &worst));
    if (worst == Have::all) return {};
    if (worst == Have::unusable) return have == Have::unusable ? mine : unusable_somewhere();
    mine = send(over, 0, joins && have != Have::all);
    if (mine.code == RINGRT_PEER_LOST || mine.code == RINGRT_TIMEOUT) return mine;
    RINGRT_TRY(gather_worst(over, mine.ok() ? Have::all : Have::unusable, &worst));
    if (!mine.ok()) return mine;
    return worst == Have::all ? Status{} : unusable_somewhere();
}

Status StateTransfer::to_ranks_behind(Communicator &over, int root, uint32_t *torn) {
    find_whole();
    RINGRT_TRY(tell_pieces(over, root));
    if (torn && !buffers_.empty()) *torn = 1;  // program state is unpacked whole, or not at all
    return send(over, root, torn != nullptr);
}

}  // namespace ringrt::live
