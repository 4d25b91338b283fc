// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/shard.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "libringrt/base/workers.h"
#include "libringrt/checkpoint/hash.h"
#include "libringrt/checkpoint/hasher.h"

namespace ringrt::checkpoint {
namespace {

// The disk starts on this many bytes while the next are written, so that the final sync is short.
constexpr uint64_t kWritebackBytes = 8 << 20;
constexpr const char *kWrongHash = "a piece's hash differs";

// How far a file is written, and how far writeback was started.
struct Writeback {
    uint64_t position = 0, started = 0;
};

int write_window(Files &files, int fd, const std::vector<Source> &sources, Writeback &at,
                 std::vector<TableRow> &table) {
    Hasher hasher(sources.size());
    for (const Source &source : sources) {
        std::span<const std::byte> bytes(source.bytes, source.piece.bytes);
        hasher.add(bytes);
        if (int result = write_all(files, fd, bytes); result < 0) return result;
        at.position += bytes.size();
        const uint64_t more = at.position - at.started;
        if (more < kWritebackBytes) continue;
        files.start_writeback(fd, at.started, more);  // a hint; its result is ignored
        at.started = at.position;
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

Status write_pieces(Files &files, int fd, const std::string &path,
                    const std::vector<Source> &sources, std::vector<TableRow> &table) {
    SourceReader reader(sources);
    Writeback at;
    for (std::vector<Source> window;;) {
        RINGRT_TRY(reader.next(window));
        if (window.empty()) return {};
        const int result = write_window(files, fd, window, at, table);
        if (result < 0) return write_failure(result, path);
    }
}

std::string file_of(const std::string &path) { return path.substr(path.find_last_of('/') + 1); }

Status damaged(const std::string &name, const char *what) {
    return {RINGRT_CORRUPT, name + ": " + what};
}

// Threads read the pieces at the same time, so no two may belong to one place.
bool overlap(std::vector<TableRow> table) {
    std::ranges::sort(table, {},
                      [](const TableRow &row) { return std::pair(row.parameter, row.offset); });
    const auto first = std::ranges::adjacent_find(table, [](const TableRow &a, const TableRow &b) {
        return a.parameter == b.parameter && a.offset + a.bytes > b.offset;
    });
    return first != table.end();
}

bool plausible(const std::vector<TableRow> &table, const Shard &shard, size_t parameters) {
    uint64_t left = shard.data_bytes;
    for (const TableRow &row : table) {
        if (row.parameter >= parameters || row.bytes > kPieceBytesMax || row.bytes > left ||
            row.offset > kParameterBytesMax)
            return false;
        left -= row.bytes;
    }
    return left == 0 && !overlap(table);
}

}  // namespace

std::vector<Source> sources_to_write(const std::vector<Buffer> &buffers, int rank, int size,
                                     const LayoutOptions &options) {
    std::vector<Source> sources;
    for (const Piece &piece : pieces_to_write(buffers, rank, size, options)) {
        const Buffer &buffer = buffers[piece.parameter];
        sources.push_back({.piece = piece,
                           .bytes = buffer.data + (piece.offset - buffer.offset),
                           .on_device = buffer.device ? &buffer : nullptr});
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
    Status pieces = write_pieces(files, fd, path, sources, table);
    auto table_bytes = std::as_bytes(std::span(table));
    int result = pieces.ok() ? write_all(files, fd, table_bytes) : 0;
    if (pieces.ok() && result == 0) result = files.sync_data(fd);
    int closed = files.close(fd);
    if (!pieces.ok()) return pieces;
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

ShardReader::Needed ShardReader::needed(const TableRow &row, const Target &target,
                                        uint64_t position, bool &any) {
    Needed out{&row, &target, position, nullptr};
    any = false;
    target.runs(row.offset, row.offset + row.bytes, [&](const Run &run) {
        any = true;
        if (run.bytes == row.bytes) out.place = target.here()->data + run.to;
    });
    return out;
}

Status ShardReader::read_into(const std::vector<Target> &targets, Staging &staging) {
    std::vector<Needed> on_host, on_device;
    uint64_t position = 0;
    for (const TableRow &row : table_) {
        const Target &target = targets[row.parameter];
        bool any = false;
        const Needed piece =
            needed(row, target, std::exchange(position, position + row.bytes), any);
        if (any) (target.here()->device ? on_device : on_host).push_back(piece);
    }
    RINGRT_TRY(read_to_host(on_host));
    return read_to_device(on_device, staging);
}

// By any thread.
Status ShardReader::read_checked(const TableRow &row, uint64_t position,
                                 std::span<std::byte> bytes) {
    if (const int result = read_all(files_, fd_, bytes, position); result < 0)
        return read_failure(result, name_);
    return hash64(bytes) == row.hash ? Status() : damaged(name_, kWrongHash);
}

// One thread reads and one hashes. More threads slow down two ranks on two cores.
Status ShardReader::read_to_host(const std::vector<Needed> &all) {
    Hasher hasher(all.size());
    std::vector<uint64_t> expected;  // hashes of the pieces given to the hasher
    std::vector<std::byte> scratch;
    for (const Needed &needed : all) {
        if (!needed.place) {
            RINGRT_TRY(read_to_place(needed, scratch));
            continue;
        }
        const std::span<std::byte> bytes(needed.place, needed.row->bytes);
        if (const int result = read_all(files_, fd_, bytes, needed.position); result < 0)
            return read_failure(result, name_);
        hasher.add(bytes);
        expected.push_back(needed.row->hash);
    }
    return hasher.finish() == expected ? Status() : damaged(name_, kWrongHash);
}

Status ShardReader::read_to_place(const Needed &needed, std::vector<std::byte> &scratch) {
    const auto &[row, target, position, place] = needed;
    if (place) return read_checked(*row, position, {place, row->bytes});
    scratch.resize(row->bytes);
    RINGRT_TRY(read_checked(*row, position, scratch));
    std::byte *const here = target->here()->data;
    target->runs(row->offset, row->offset + row->bytes, [&](const Run &run) {
        std::memcpy(here + run.to, scratch.data() + run.from, run.bytes);
    });
    return {};
}

Status ShardReader::copy_runs(const Needed &needed, const std::byte *bytes, Staging &staging) {
    const auto &[row, target, position, place] = needed;
    const Buffer &here = *target->here();
    Status copied;
    target->runs(row->offset, row->offset + row->bytes, [&](const Run &run) {
        if (copied.ok())
            copied = staging.start_copy(here, here.data + run.to, bytes + run.from, run.bytes);
    });
    return copied;
}

// Reads into one half of the staging while the other is copied. When half of the pieces of one have
// begun, the copies of the other have usually ended. Then the next pieces may be read into it, so
// that no thread waits for the last of these.
Status ShardReader::read_to_device(const std::vector<Needed> &all, Staging &staging) {
    if (all.empty()) return {};
    uint64_t largest = 0;
    for (const Needed &needed : all) largest = std::max(largest, needed.row->bytes);
    RINGRT_TRY(staging.open(*all.front().target->here(), largest));
    std::vector<std::byte *> places(all.size());
    Workers workers(worker_threads(), [&](size_t i, size_t) {
        const Needed &needed = all[i];
        return read_checked(*needed.row, needed.position, {places[i], needed.row->bytes});
    });
    // Lets the pieces from `first` on that fit into a half be read into it. Returns their end.
    const auto allow = [&](size_t first) {
        std::byte *at = staging.half(), *const end = at + staging.half_bytes();
        for (; first < all.size() && all[first].row->bytes <= static_cast<uint64_t>(end - at);
             ++first)
            places[first] = std::exchange(at, at + all[first].row->bytes);
        staging.flip();
        workers.allow(first);
        return first;
    };
    size_t copied = 0;
    for (size_t end = allow(0); copied < all.size();) {
        workers.share((copied + end) / 2);
        RINGRT_TRY(staging.wait());
        const size_t next = allow(end);
        RINGRT_TRY(workers.finish(end));
        for (; copied < end; ++copied) RINGRT_TRY(copy_runs(all[copied], places[copied], staging));
        end = next;
    }
    return staging.wait();
}

Status ShardReader::verify(const std::function<bool(const TableRow &)> &wanted) {
    struct Place {
        const TableRow *row;
        uint64_t position;
    };
    std::vector<Place> all;
    uint64_t position = 0;
    for (const TableRow &row : table_) {
        const uint64_t at = std::exchange(position, position + row.bytes);
        if (!wanted || wanted(row)) all.push_back({&row, at});
    }
    const size_t threads = worker_threads();
    std::vector<std::vector<std::byte>> scratch(threads);
    Workers workers(threads, [&](size_t i, size_t thread) {
        scratch[thread].resize(all[i].row->bytes);
        return read_checked(*all[i].row, all[i].position, scratch[thread]);
    });
    workers.allow(all.size());
    return workers.finish(all.size());
}

}  // namespace ringrt::checkpoint
