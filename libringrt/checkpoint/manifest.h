// SPDX-License-Identifier: BSD-3-Clause
// The text that makes a directory of shards a checkpoint, and LATEST next to it. PURE.
//
// Lines of words without nesting, parsed as hostile input: every count, length and number is
// bounded, every key comes once and in order, and the last line is the hash of all lines before it.
//
// clang-format off
//     ringrt-checkpoint 1
//     job 77 restart 3 nonce 9f3c5a1e00b2d4c7
//     step 1200 samples 76800 seed 1 ranks 4 time 1763721600
//     batch 64                             samples of a reference step (job/batch.h), if known
//     speed 1 520.1                        one per size the job ran at: GPUs, ms of a reference step
//     gradients 1 7 16 9.4 …               what the reducer learned (gradients/learned.h)
//     losses 4 0.2 2.5:0.7 6.5:0.61 …      the loss curve (job/loss_curve.h); neither is checked here
//     block 0 0 0 32 5                     a tiling's number, a block's offsets and extents
//     param float32 rows 2 64 10 layer1/w  type, whole|rows|tiling|blob, dimensions,
//                                          extents, name
//     param float32 tiling 0 2 64 10 w     its blocks, one after the other, are those of tiling 0
//     param uint8 blob 1 4711 state        the parts of all ranks, in rank order, each in its shard
//     shard 0 2560 1 0a1b2c3d4e5f6071      rank, bytes of data, pieces, hash of the piece table
//     file 5120 77aa… state.pt             one per program file: bytes, hash, name
//     end 5e0c…                            hash of everything above
// clang-format on
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libringrt/base/status.h"
#include "libringrt/checkpoint/fence.h"
#include "libringrt/checkpoint/layout.h"

namespace ringrt::checkpoint {

inline constexpr size_t kManifestBytesMax = 16 << 20;
inline constexpr size_t kShardsMax = 65536;
inline constexpr size_t kProgramFilesMax = 65536;
inline constexpr size_t kBlocksMax = 1 << 20;    // of all tilings
inline constexpr uint64_t kPiecesMax = 1 << 22;  // per shard
inline constexpr uint64_t kPieceBytesMax = 64 << 20;
inline constexpr size_t kSpeedsMax = 12;
inline constexpr size_t kNoteBytesMax = 4 << 20;  // each of `gradients` and `losses`
inline constexpr size_t kLatestBytesMax = 512;

struct Speed {
    uint32_t gpus = 0;
    double step_ms = 0;
};

struct Shard {
    uint32_t rank = 0;
    uint64_t data_bytes = 0;
    uint64_t pieces = 0;
    uint64_t table_hash = 0;  // covers the whole file: the table holds each piece's hash
};

// A file that the program wrote (program_files.h).
struct ProgramFile {
    std::string name;
    uint64_t bytes = 0;
    uint64_t hash = 0;
};

struct Manifest {
    Fence fence;
    uint64_t step = 0;
    uint64_t samples = 0;  // consumed since the training began
    uint64_t seed = 0;
    uint32_t ranks = 1;
    int64_t time_s = 0;  // Unix
    uint32_t batch = 0;  // samples of a reference step, the unit of speeds and losses; 0: one step
    std::vector<Speed> speeds;
    std::string gradients, losses;      // one line each, may be empty
    std::vector<Parameter> parameters;  // by name, ascending
    std::vector<Shard> shards;          // by rank, ascending
    std::vector<ProgramFile> files;     // by name, ascending
};

[[nodiscard]] std::string format_manifest(const Manifest &manifest);

// RINGRT_CORRUPT with the line number and the error.
Status parse_manifest(std::string_view text, Manifest &out);

// `directory 0123456789abcdef`: the directory's name and its manifest's hash, sealed with a hash.
struct Latest {
    std::string directory;
    uint64_t manifest_hash = 0;
};
[[nodiscard]] std::string format_latest(const Latest &latest);
[[nodiscard]] bool parse_latest(std::string_view text, Latest &out);

// Whether the library reserves this name in a checkpoint's directory.
[[nodiscard]] bool is_reserved_name(std::string_view name);
// Valid names of program files: 1 to 200 of [A-Za-z0-9._-], not reserved by the library.
[[nodiscard]] bool valid_file_name(std::string_view name);

[[nodiscard]] uint64_t hash_text(std::string_view text);

}  // namespace ringrt::checkpoint
