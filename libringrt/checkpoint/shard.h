// SPDX-License-Identifier: BSD-3-Clause
// One rank's file of a checkpoint: the bytes of its pieces in order, then a table with one row per
// piece (parameter, offset, bytes, hash; 32 bytes, little-endian). The manifest holds the table's
// hash.
#pragma once

#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "libringrt/checkpoint/files.h"
#include "libringrt/checkpoint/layout.h"
#include "libringrt/checkpoint/manifest.h"
#include "libringrt/checkpoint/source_reader.h"

namespace ringrt::checkpoint {

struct TableRow {
    uint32_t parameter = 0;
    uint32_t reserved = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint64_t hash = 0;
};
static_assert(sizeof(TableRow) == 32 && std::endian::native == std::endian::little);

[[nodiscard]] std::string shard_name(uint32_t rank);  // "shard-00003"

// This rank's pieces_to_write(), with their locations in `buffers`, which must outlive them.
[[nodiscard]] std::vector<Source> sources_to_write(const std::vector<Buffer> &buffers, int rank,
                                                   int size, const LayoutOptions &options);

// Size in bytes of the file written from `sources`.
[[nodiscard]] uint64_t shard_bytes(const std::vector<Source> &sources);

// Writes, hashes and syncs a new file in one pass. Does not set out.rank. CHECKPOINT_FAILED, or
// SYSTEM_ERROR if a device's memory could not be read.
Status write_shard(Files &files, const std::string &path, const std::vector<Source> &sources,
                   Shard &out);

// An open shard whose size and table match the manifest.
class ShardReader {
  public:
    explicit ShardReader(Files &files) : files_(files) {}
    ~ShardReader();
    ShardReader(const ShardReader &) = delete;
    ShardReader &operator=(const ShardReader &) = delete;

    // RINGRT_CORRUPT if it does not match, RINGRT_SYSTEM_ERROR if it cannot be read now.
    Status open(const std::string &path, const Shard &expected, size_t parameters);
    const std::vector<TableRow> &table() const { return table_; }

    // Reads every piece that a target's buffer needs, checks it, and copies what they have in
    // common. `targets` are those of all saved parameters. Buffers on a device are filled through
    // `staging`, which a few threads read into.
    Status read_into(const std::vector<Target> &targets, Staging &staging);

    // Reads and checks the whole shard, or the rows that are `wanted`.
    Status verify(const std::function<bool(const TableRow &)> &wanted = {});

  private:
    // A table row of which a buffer needs at least a part; its piece begins at `position`.
    struct Needed {
        const TableRow *row;
        const Target *target;
        uint64_t position;
        std::byte *place;  // the whole piece belongs there; null: copy its runs
    };
    [[nodiscard]] static Needed needed(const TableRow &row, const Target &target, uint64_t position,
                                       bool &any);
    Status read_checked(const TableRow &row, uint64_t position, std::span<std::byte> bytes);
    Status read_to_host(const std::vector<Needed> &all);
    Status read_to_place(const Needed &needed, std::vector<std::byte> &scratch);
    Status read_to_device(const std::vector<Needed> &all, Staging &staging);
    static Status copy_runs(const Needed &needed, const std::byte *bytes, Staging &staging);

    Files &files_;
    int fd_ = -1;
    std::string name_;
    std::vector<TableRow> table_;
};

// CORRUPT if the file is missing or not the one that was written. SYSTEM_ERROR if the error does
// not prove that: a file system that lost its server briefly also returns EIO.
Status read_failure(int negative_errno, const std::string &name);

}  // namespace ringrt::checkpoint
