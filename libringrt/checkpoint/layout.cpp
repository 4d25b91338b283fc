// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/layout.h"

#include <algorithm>
#include <array>

namespace ringrt::checkpoint {
namespace {

// Cuts lie at multiples of this, so that no element is split and large copies stay aligned.
constexpr uint64_t kCutBytes = 64;

// Offset at which part `index` of `parts` begins in `total` bytes.
uint64_t cut(uint64_t total, int index, int parts) {
    if (index >= parts) return total;
    auto at = static_cast<unsigned __int128>(total) * static_cast<unsigned>(index) /
              static_cast<unsigned>(parts);
    return static_cast<uint64_t>(at) / kCutBytes * kCutBytes;
}

void add_pieces(std::vector<Piece> &out, Piece whole, uint64_t piece_bytes) {
    for (; whole.bytes > 0;) {
        Piece piece = whole;
        piece.bytes = std::min(whole.bytes, piece_bytes);
        out.push_back(piece);
        whole.offset += piece.bytes;
        whole.bytes -= piece.bytes;
    }
}

uint64_t bytes_held_by_all(const std::vector<Buffer> &buffers) {
    uint64_t total = 0;
    for (const Buffer &buffer : buffers)
        if (!buffer.parameter.sharded) total += buffer.bytes;
    return total;
}

bool valid_name_part(std::string_view part) { return !part.empty() && part != "." && part != ".."; }

}  // namespace

bool valid_name(std::string_view name) {
    if (name.empty() || name.size() > kNameBytesMax) return false;
    for (char c : name) {
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && c != '.' && c != '_' && c != '-' && c != '/') return false;
    }
    for (size_t slash; (slash = name.find('/')) != name.npos; name.remove_prefix(slash + 1))
        if (!valid_name_part(name.substr(0, slash))) return false;
    return valid_name_part(name);
}

Status check(const Parameter &parameter) {
    const char *name = parameter.name.c_str();
    if (!valid_name(parameter.name))
        return {RINGRT_INVALID_ARGUMENT,
                "a buffer's name is 1 to 200 of [A-Za-z0-9._/-], without empty, . or .. parts"};
    if (dtype_bytes(parameter.dtype) == 0)
        return {RINGRT_INVALID_ARGUMENT,
                format_text("buffer %s: unknown type %d", name, parameter.dtype)};
    if (parameter.shape.size() > kDimensionsMax)
        return {RINGRT_INVALID_ARGUMENT,
                format_text("buffer %s: at most %zu dimensions", name, kDimensionsMax)};
    if (parameter.sharded && parameter.shape.empty())
        return {RINGRT_INVALID_ARGUMENT, format_text("buffer %s: a scalar has no rows", name)};
    uint64_t bytes = dtype_bytes(parameter.dtype);
    bool empty = std::ranges::find(parameter.shape, uint64_t{0}) != parameter.shape.end();
    for (uint64_t extent : parameter.shape) {
        if (empty || extent <= kParameterBytesMax / bytes) {
            bytes *= empty ? 1 : extent;
            continue;
        }
        return {RINGRT_INVALID_ARGUMENT, format_text("buffer %s: larger than 2^60 bytes", name)};
    }
    return {};
}

uint64_t bytes_of(const Parameter &parameter) {
    uint64_t bytes = dtype_bytes(parameter.dtype);
    for (uint64_t extent : parameter.shape) bytes *= extent;
    return bytes;
}

void hold_block(Buffer &buffer, Block block) {
    const Parameter &parameter = buffer.parameter;
    const uint64_t element_bytes = dtype_bytes(parameter.dtype);
    const uint64_t rows = parameter.shape[0];
    buffer.parameter.sharded = true;
    buffer.bytes = elements_of(block) * element_bytes;
    buffer.offset = rows > 0 ? block.offset[0] * (bytes_of(parameter) / rows) : 0;
    buffer.block = std::move(block);
}

Buffer blob_buffer(std::string name, std::byte *data, uint64_t bytes) {
    return {.parameter = {.name = std::move(name),
                          .dtype = RINGRT_UINT8,
                          .shape = {0},
                          .sharded = true,
                          .blob = true},
            .data = data,
            .bytes = bytes};
}

void Placement::place_blob(Buffer &buffer, const std::vector<uint64_t> &bytes) const {
    uint64_t all = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
        if (i == static_cast<size_t>(rank_)) buffer.offset = all;
        all += bytes[i];
    }
    buffer.parameter.shape = {all};
}

Status Placement::place(Buffer &buffer, const std::vector<Block> &blocks) {
    Parameter &parameter = buffer.parameter;
    const bool rows = std::ranges::all_of(
        blocks, [&](const Block &block) { return is_rows(block, parameter.shape); });
    if (rows) return check_blocks(parameter.name, parameter.shape, blocks);
    auto tiling = std::make_shared<Tiling>();
    tiling->shape = parameter.shape;
    uint64_t before = 0;  // elements of the ranks before this one
    for (size_t i = 0; i < blocks.size(); ++i) {
        if (i < static_cast<size_t>(rank_)) before += elements_of(blocks[i]);
        if (elements_of(blocks[i]) > 0) tiling->add(blocks[i]);
    }
    const auto same = std::ranges::find_if(known_, [&](const auto &other) {
        return other->shape == tiling->shape && other->blocks == tiling->blocks;
    });
    if (same != known_.end()) {
        parameter.tiling = *same;
    } else {
        RINGRT_TRY(check_blocks(parameter.name, parameter.shape, blocks));
        parameter.tiling = known_.emplace_back(std::move(tiling));
    }
    buffer.offset = before * dtype_bytes(parameter.dtype);
    return {};
}

Target::Target(const Parameter &saved, const Buffer *here)
    : saved_(&saved),
      here_(here),
      element_bytes_(dtype_bytes(saved.dtype)),
      whole_(whole_block(saved.shape)),
      block_here_(here && here->parameter.sharded ? here->block : whole_) {}

size_t Target::block_at(uint64_t offset) const {
    if (!saved_->tiling) return 0;
    const std::vector<uint64_t> &starts = saved_->tiling->starts;
    const auto after = std::ranges::upper_bound(starts, offset / element_bytes_);
    return static_cast<size_t>(after - starts.begin()) - 1;
}

std::vector<Target> targets_of(const std::vector<Parameter> &saved,
                               const std::vector<Buffer> &buffers) {
    std::vector<Target> out;
    out.reserve(saved.size());
    auto here = buffers.begin();
    for (const Parameter &parameter : saved) {
        while (here != buffers.end() && here->parameter.name < parameter.name) ++here;
        const bool same = here != buffers.end() && here->parameter.name == parameter.name;
        out.emplace_back(parameter, same ? &*here : nullptr);
    }
    return out;
}

std::vector<Piece> pieces_to_write(const std::vector<Buffer> &buffers, int rank, int size,
                                   const LayoutOptions &options) {
    const uint64_t total = bytes_held_by_all(buffers);
    const uint64_t worth = total / std::max<uint64_t>(options.writer_bytes, 1) + 1;
    const int writers = static_cast<int>(std::min<uint64_t>(worth, static_cast<uint64_t>(size)));
    const uint64_t first = cut(total, rank, writers), last = cut(total, rank + 1, writers);
    std::vector<Piece> out;
    uint64_t at = 0;  // where this buffer begins in the concatenated whole buffers
    for (uint32_t i = 0; i < buffers.size(); ++i) {
        const Buffer &buffer = buffers[i];
        if (buffer.parameter.sharded) {
            add_pieces(out, {i, buffer.offset, buffer.bytes}, options.piece_bytes);
            continue;
        }
        const uint64_t from = std::max(first, at), to = std::min(last, at + buffer.bytes);
        if (from < to) add_pieces(out, {i, from - at, to - from}, options.piece_bytes);
        at += buffer.bytes;
    }
    return out;
}

Status check_tiling(const std::vector<Parameter> &parameters, std::vector<Piece> pieces) {
    std::ranges::sort(pieces, [](const Piece &a, const Piece &b) {
        return a.parameter != b.parameter ? a.parameter < b.parameter : a.offset < b.offset;
    });
    size_t next = 0;
    for (uint32_t i = 0; i < parameters.size(); ++i) {
        uint64_t covered = 0;
        const uint64_t bytes = bytes_of(parameters[i]);
        for (; next < pieces.size() && pieces[next].parameter == i; ++next) {
            const Piece &piece = pieces[next];
            if (piece.offset != covered || piece.bytes > bytes - covered) break;
            covered += piece.bytes;
        }
        bool more = next < pieces.size() && pieces[next].parameter == i;
        if (more || covered != bytes)
            return {
                RINGRT_MISMATCH,
                format_text("buffer %s: the saved pieces do not tile it (at byte %llu)",
                            parameters[i].name.c_str(), static_cast<unsigned long long>(covered))};
    }
    if (next != pieces.size()) return {RINGRT_MISMATCH, "a piece belongs to no buffer"};
    return {};
}

}  // namespace ringrt::checkpoint
