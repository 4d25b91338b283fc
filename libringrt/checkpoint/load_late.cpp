// SPDX-License-Identifier: BSD-3-Clause
// Reads from a loaded checkpoint what was not registered at the load.
#include <algorithm>

#include "libringrt/checkpoint/load.h"
#include "libringrt/checkpoint/shard.h"

namespace ringrt::checkpoint {

const Parameter *Rest::find(const std::string &name) const {
    const auto at = std::ranges::lower_bound(manifest.parameters, name, {}, &Parameter::name);
    return at != manifest.parameters.end() && at->name == name ? &*at : nullptr;
}

Status load_late(Files &files, const Rest &rest, const Buffer &buffer, const Pauses &pauses_s) {
    const Parameter *saved = rest.find(buffer.parameter.name);
    if (!saved) return {};
    RINGRT_TRY(check_same(*saved, buffer.parameter));
    const std::vector<Buffer> one = {buffer};
    const std::vector<Target> targets = targets_of(rest.manifest.parameters, one);
    return with_retries(pauses_s, [&]() -> Status {
        Staging staging;
        for (const uint32_t i :
             rest.shards[static_cast<size_t>(saved - rest.manifest.parameters.data())]) {
            const Shard &shard = rest.manifest.shards[i];
            ShardReader reader(files);
            RINGRT_TRY(
                reader.open(rest.directory + "/" + shard_name(shard.rank), shard, targets.size()));
            RINGRT_TRY(reader.read_into(targets, staging));
        }
        return {};
    });
}

namespace {

// The bytes of a blob in one shard. The file is as long as its table says, so what is allocated
// here is bounded.
Status read_blob(Files &files, const std::string &path, const Shard &shard,
                 const std::vector<Parameter> &saved, size_t index, std::vector<std::byte> &out) {
    ShardReader reader(files);
    RINGRT_TRY(reader.open(path, shard, saved.size()));
    uint64_t first = UINT64_MAX, bytes = 0;
    for (const TableRow &row : reader.table()) {
        if (row.parameter != index) continue;
        first = std::min(first, row.offset);
        bytes += row.bytes;
    }
    out.resize(bytes);
    std::vector<Buffer> one = {{.parameter = saved[index], .data = out.data()}};
    hold_block(one[0], {{first}, {bytes}});
    Staging staging;
    return reader.read_into(targets_of(saved, one), staging);
}

}  // namespace

Status load_blob(Files &files, const Rest &rest, const std::string &name, uint32_t rank,
                 std::vector<std::byte> &out, const Pauses &pauses_s) {
    const Parameter *saved = rest.find(name);
    if (!saved || !saved->blob) return {RINGRT_NOT_FOUND, "the checkpoint holds no blob " + name};
    if (rank >= rest.manifest.ranks)
        return {RINGRT_NOT_FOUND,
                format_text("the checkpoint is of %u ranks, and has no part of rank %u",
                            rest.manifest.ranks, rank)};
    const std::vector<Parameter> &all = rest.manifest.parameters;
    const auto index = static_cast<size_t>(saved - all.data());
    for (const uint32_t i : rest.shards[index]) {
        const Shard &shard = rest.manifest.shards[i];
        if (shard.rank != rank) continue;
        const std::string path = rest.directory + "/" + shard_name(rank);
        return with_retries(pauses_s,
                            [&] { return read_blob(files, path, shard, all, index, out); });
    }
    out.clear();
    return {};
}

}  // namespace ringrt::checkpoint
