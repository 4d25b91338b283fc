// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of which parameter each rank writes, and which it reads back. PURE.
//
// A parameter is addressed by its own bytes, not by rank, so any number of ranks can read a
// checkpoint. The bytes are in row-major order (0 .. bytes), or those of one block after the other
// if the ranks held blocks that are cut in other dimensions than the first (blocks.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libringrt/base/device_memory.h"
#include "libringrt/base/dtype.h"
#include "libringrt/base/status.h"
#include "libringrt/checkpoint/blocks.h"

namespace ringrt::checkpoint {

inline constexpr size_t kParametersMax = 4096;
inline constexpr size_t kNameBytesMax = 200;
inline constexpr uint64_t kParameterBytesMax = uint64_t{1} << 60;

// A parameter's description, the same on all ranks.
struct Parameter {
    std::string name;
    ringrt_dtype_t dtype = RINGRT_FLOAT32;
    std::vector<uint64_t> shape;  // empty: a scalar
    bool sharded = false;         // ranks hold different blocks; otherwise all hold the whole
    bool blob = false;            // bytes, whose number may differ at each rank and in each save
    // In a checkpoint: the order of the bytes. Null: row-major.
    std::shared_ptr<const Tiling> tiling{};

    bool operator==(const Parameter &) const = default;
};

// A registered parameter and this rank's bytes of it.
struct Buffer {
    Parameter parameter;
    std::byte *data = nullptr;       // owned by the caller
    uint64_t offset = 0;             // of `data` in the parameter's bytes; set by a Placement
    uint64_t bytes = 0;              // in `data`
    Block block{};                   // that `data` holds; only of a sharded parameter
    DeviceMemory *device = nullptr;  // set: data is in device memory, which the host cannot read
};

// Bytes [offset, offset + bytes) of parameter `index`, stored and hashed as one unit.
struct Piece {
    uint32_t parameter = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;

    uint64_t end() const { return offset + bytes; }
    bool operator==(const Piece &) const = default;
};

[[nodiscard]] bool valid_name(std::string_view name);

// INVALID_ARGUMENT with the reason: name, type, shape or overflow.
Status check(const Parameter &parameter);

// Bytes of a whole parameter that passed check().
[[nodiscard]] uint64_t bytes_of(const Parameter &parameter);

// A blob, of which this rank has these bytes.
[[nodiscard]] Buffer blob_buffer(std::string name, std::byte *data, uint64_t bytes);

// Makes `buffer` hold this block, which is inside the parameter's shape.
void hold_block(Buffer &buffer, Block block);

// Gives sharded parameters the order of bytes in which a save writes them, from the blocks of all
// ranks, and the buffers of `rank` their offsets there. Blocks that are cut in the first dimension
// only are in row-major order, and others in rank order.
class Placement {
  public:
    explicit Placement(int rank) : rank_(rank) {}
    // The same for a blob, of which each rank has a part; they are in rank order.
    void place_blob(Buffer &buffer, const std::vector<uint64_t> &bytes) const;
    // MISMATCH if the blocks, one per rank, do not tile the parameter.
    Status place(Buffer &buffer, const std::vector<Block> &blocks);

  private:
    const int rank_;
    std::vector<std::shared_ptr<const Tiling>> known_;  // parameters that are cut alike share one
};

// A saved parameter, and the buffer that it is to be read into.
class Target {
  public:
    // `here` null: it is not read.
    Target(const Parameter &saved, const Buffer *here);
    [[nodiscard]] const Buffer *here() const { return here_; }
    [[nodiscard]] const Parameter &saved() const { return *saved_; }

    // Calls each(Run) for what `here` holds of the saved parameter's bytes [first, last). `from`
    // counts from `first`, `to` from here's data.
    template <class Each>
    void runs(uint64_t first, uint64_t last, Each &&each) const {
        if (!here_) return;
        for (size_t i = block_at(first); i < count() && start(i) < last; ++i) {
            const uint64_t start = this->start(i), end = start + bytes(i);
            const uint64_t from = std::max(first, start), to = std::min(last, end);
            if (from >= to) continue;
            const Common common(block(i), block_here_, element_bytes_);
            common.runs(from - start, to - start, [&](Run run) {
                run.from += from - first;
                each(run);
            });
        }
    }

  private:
    [[nodiscard]] size_t count() const {
        return saved_->tiling ? saved_->tiling->blocks.size() : 1;
    }
    [[nodiscard]] const Block &block(size_t i) const {
        return saved_->tiling ? saved_->tiling->blocks[i] : whole_;
    }
    [[nodiscard]] uint64_t start(size_t i) const {
        return saved_->tiling ? saved_->tiling->starts[i] * element_bytes_ : 0;
    }
    [[nodiscard]] uint64_t bytes(size_t i) const { return elements_of(block(i)) * element_bytes_; }
    [[nodiscard]] size_t block_at(uint64_t offset) const;  // the last that starts at or before it

    const Parameter *saved_;
    const Buffer *here_;
    uint64_t element_bytes_;
    Block whole_, block_here_;
};

// One per saved parameter, which refers to both lists. They are sorted by name. A buffer of the
// same name has the same type and shape.
[[nodiscard]] std::vector<Target> targets_of(const std::vector<Parameter> &saved,
                                             const std::vector<Buffer> &buffers);

struct LayoutOptions {
    uint64_t piece_bytes = 1 << 20;   // at most; stays in cache between hashing and writing
    uint64_t writer_bytes = 4 << 20;  // fewer bytes are not worth another file
};

// What `rank` of `size` writes. Whole parameters, which all ranks hold, are cut into equal runs
// over the ranks. Each rank writes its own blocks, which are placed. The pieces of all ranks tile
// all parameters.
[[nodiscard]] std::vector<Piece> pieces_to_write(const std::vector<Buffer> &buffers, int rank,
                                                 int size, const LayoutOptions &options);

// Ok if the pieces cover every byte of every parameter exactly once; otherwise names the parameter.
Status check_tiling(const std::vector<Parameter> &parameters, std::vector<Piece> pieces);

}  // namespace ringrt::checkpoint
