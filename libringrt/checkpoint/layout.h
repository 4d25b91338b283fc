// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of which parameter each rank writes, and which it reads back. PURE.
//
// A parameter is addressed by its own bytes (row-major, 0 .. bytes), not by rank, so any number of
// ranks can read a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libringrt/base/device_memory.h"
#include "libringrt/base/dtype.h"
#include "libringrt/base/status.h"

namespace ringrt::checkpoint {

inline constexpr size_t kParametersMax = 4096;
inline constexpr size_t kNameBytesMax = 200;
inline constexpr size_t kDimensionsMax = 16;
inline constexpr uint64_t kParameterBytesMax = uint64_t{1} << 60;

// A parameter's description, the same on all ranks.
struct Parameter {
    std::string name;
    ringrt_dtype_t dtype = RINGRT_FLOAT32;
    std::vector<uint64_t> shape;  // empty: a scalar
    bool by_rows = false;         // ranks hold different rows; otherwise all hold the whole

    bool operator==(const Parameter &) const = default;
};

// A registered parameter and this rank's bytes of it.
struct Buffer {
    Parameter parameter;
    std::byte *data = nullptr;       // owned by the caller
    uint64_t offset = 0;             // first byte of the parameter in `data`
    uint64_t bytes = 0;              // in `data`
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

struct LayoutOptions {
    uint64_t piece_bytes = 1 << 20;   // at most; stays in cache between hashing and writing
    uint64_t writer_bytes = 4 << 20;  // fewer bytes are not worth another file
};

// What `rank` of `size` writes. Whole parameters, which all ranks hold, are cut into equal runs
// over the ranks. Each rank writes its own rows. The pieces of all ranks tile all parameters.
[[nodiscard]] std::vector<Piece> pieces_to_write(const std::vector<Buffer> &buffers, int rank,
                                                 int size, const LayoutOptions &options);

// Ok if the pieces cover every byte of every parameter exactly once; otherwise names the parameter.
Status check_tiling(const std::vector<Parameter> &parameters, std::vector<Piece> pieces);

}  // namespace ringrt::checkpoint
