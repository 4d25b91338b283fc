// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/shard.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "libringrt/checkpoint/hash.h"
#include "libringrt/checkpoint/hasher.h"

namespace ringrt::checkpoint {
namespace {

// The disk starts on so much while the next is written, so that the final sync finds little left.
constexpr uint64_t kWritebackBytes = 8 << 20;
constexpr const char *kWrongHash = "a piece's hash differs";

int write_pieces(Files &files, int fd, const std::vector<Source> &sources,
                 std::vector<TableRow> &table) {
    Hasher hasher(sources.size());
    uint64_t position = 0, started = 0;
    for (const Source &source : sources) {
        std::span<const std::byte> bytes(source.bytes, source.piece.bytes);
        hasher.add(bytes);
        if (int result = write_all(files, fd, bytes); result < 0) return result;
        position += bytes.size();
        if (position - started < kWritebackBytes) continue;
        files.start_writeback(fd, started, position - started);  // only a hint: no answer needed
        started = position;
    }
    const std::vector<uint64_t> hashes = hasher.finish();
    for (size_t i = 0; i < sources.size(); ++i) {
        const Piece &piece = sources[i].piece;
        table.push_back({.parameter = piece.parameter,
                         .offset = piece.offset,
                         .bytes = piece.bytes,
                         .hash = hashes[i]});
    }
    return 0;
}

std::string file_of(const std::string &path) { return path.substr(path.find_last_of('/') + 1); }

Status damaged(const std::string &name, const char *what) {
    return {RINGRT_CORRUPT, name + ": " + what};
}

bool plausible(const std::vector<TableRow> &table, const Shard &shard, size_t parameters) {
    uint64_t left = shard.data_bytes;
    for (const TableRow &row : table) {
        if (row.parameter >= parameters || row.bytes > kPieceBytesMax || row.bytes > left ||
            row.offset > kParameterBytesMax)
            return false;
        left -= row.bytes;
    }
    return left == 0;
}

}  // namespace

std::vector<Source> sources_to_write(const std::vector<Buffer> &buffers, int rank, int size,
                                     const LayoutOptions &options) {
    std::vector<Source> sources;
    for (const Piece &piece : pieces_to_write(buffers, rank, size, options)) {
        const Buffer &buffer = buffers[piece.parameter];
        sources.push_back({piece, buffer.data + (piece.offset - buffer.offset)});
    }
    return sources;
}

std::string shard_name(uint32_t rank) { return format_text("shard-%05u", rank); }

uint64_t shard_bytes(const std::vector<Source> &sources) {
    uint64_t bytes = sources.size() * sizeof(TableRow);
    for (const Source &source : sources) bytes += source.piece.bytes;
    return bytes;
}

Status write_shard(Files &files, const std::string &path, const std::vector<Source> &sources,
                   Shard &out) {
    int fd = files.open_new(path);
    if (fd < 0) return write_failure(fd, path);
    std::vector<TableRow> table;
    table.reserve(sources.size());
    int result = write_pieces(files, fd, sources, table);
    auto table_bytes = std::as_bytes(std::span(table));
    if (result == 0) result = write_all(files, fd, table_bytes);
    if (result == 0) result = files.sync_data(fd);
    int closed = files.close(fd);
    if (result == 0) result = closed;
    if (result < 0) return write_failure(result, path);
    out.pieces = table.size();
    out.data_bytes = shard_bytes(sources) - table_bytes.size();
    out.table_hash = hash64(table_bytes);
    return {};
}

Status read_failure(int negative_errno, const std::string &name) {
    switch (-negative_errno) {
        case ENOENT:
            return damaged(name, "missing");
        case ENODATA:
            return damaged(name, "too short");
        case EINVAL:
        case EISDIR:
        case EFBIG:
            return damaged(name, strerror(-negative_errno));
        default:
            return {RINGRT_SYSTEM_ERROR,
                    format_text("cannot read %s: %s", name.c_str(), strerror(-negative_errno))};
    }
}

ShardReader::~ShardReader() {
    if (fd_ >= 0) files_.close(fd_);
}

Status ShardReader::open(const std::string &path, const Shard &expected, size_t parameters) {
    name_ = file_of(path);
    fd_ = files_.open_read(path);
    if (fd_ < 0) return read_failure(fd_, name_);
    int64_t size = files_.size(fd_);
    if (size < 0) return read_failure(static_cast<int>(size), name_);
    const uint64_t table_bytes = expected.pieces * sizeof(TableRow);
    if (static_cast<uint64_t>(size) != expected.data_bytes + table_bytes)
        return damaged(name_, "has the wrong size");
    table_.resize(expected.pieces);
    auto bytes = std::as_writable_bytes(std::span(table_));
    if (int result = read_all(files_, fd_, bytes, expected.data_bytes); result < 0)
        return read_failure(result, name_);
    if (hash64(bytes) != expected.table_hash) return damaged(name_, "its table's hash differs");
    if (!plausible(table_, expected, parameters)) return damaged(name_, "its table is not right");
    return {};
}

Status ShardReader::read_into(const std::vector<Buffer> &buffers) {
    Hasher hasher(table_.size());
    std::vector<uint64_t> expected;  // of what the hasher was given
    uint64_t position = 0;
    for (const TableRow &row : table_) {
        const Buffer &buffer = buffers[row.parameter];
        const uint64_t from = std::max(row.offset, buffer.offset);
        const uint64_t to = std::min(row.offset + row.bytes, buffer.offset + buffer.bytes);
        const uint64_t at = std::exchange(position, position + row.bytes);
        if (from >= to) continue;
        std::byte *place = buffer.data + (from - buffer.offset);
        const bool whole = to - from == row.bytes;
        if (!whole) scratch_.resize(row.bytes);
        std::span<std::byte> bytes(whole ? place : scratch_.data(), row.bytes);
        if (int result = read_all(files_, fd_, bytes, at); result < 0)
            return read_failure(result, name_);
        if (whole) {
            hasher.add(bytes);
            expected.push_back(row.hash);
            continue;
        }
        if (hash64(bytes) != row.hash) return damaged(name_, kWrongHash);
        std::memcpy(place, bytes.data() + (from - row.offset), to - from);
    }
    return hasher.finish() == expected ? Status() : damaged(name_, kWrongHash);
}

Status ShardReader::verify() {
    uint64_t at = 0;
    for (const TableRow &row : table_) {
        scratch_.resize(row.bytes);
        if (int result = read_all(files_, fd_, scratch_, at); result < 0)
            return read_failure(result, name_);
        if (hash64(scratch_) != row.hash) return damaged(name_, kWrongHash);
        at += row.bytes;
    }
    return {};
}

}  // namespace ringrt::checkpoint
