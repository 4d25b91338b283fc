// SPDX-License-Identifier: BSD-3-Clause
// A training's state. Each buffer is in host memory or in the memory of a GPU that the host cannot
// touch (hidden_gpu.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/gpu/gpu_memory.h"
#include "tests/support/blocks.h"
#include "tests/support/hidden_gpu.h"

namespace ringrt::test {

enum class Where { host, device, mixed };
inline constexpr Where kWheres[] = {Where::host, Where::device, Where::mixed};

inline constexpr size_t kStagingBytes = 2048;

class DeviceModel {
  public:
    DeviceModel(int rank, int size, Where where, uint32_t timeout_ms = 20000)
        : memory(std::make_unique<HiddenGpu>(device),
                 {.rank = [rank] { return rank; },
                  .stream = []() -> void * { return nullptr; },
                  .watch = [this]() -> Status { return watched; },
                  .another = [this] { return std::make_unique<HiddenGpu>(device); },
                  .timeout_ms = timeout_ms,
                  .staging_bytes = kStagingBytes}) {
        if (!memory.open(device.number, "a").ok()) abort();
        const uint64_t rows = 37,
                       first = rows * uint64_t(rank) * uint64_t(rank) /
                               (uint64_t(size) * uint64_t(size)),
                       end = rows * uint64_t(rank + 1) * uint64_t(rank + 1) /
                             (uint64_t(size) * uint64_t(size));
        add("a", {1}, where);
        add("b", {0, 5}, where);
        add("c", {3001}, where);
        add("d", {rows, 11}, where, checkpoint::rows_block({rows, 11}, first, end - first));
        add("e", {2, 4, 625}, where);  // larger than the staging
        add("f", {rows, 131}, where, checkpoint::rows_block({rows, 131}, first, end - first));
        // Cut in the last dimension, and uneven
        add("g", {23, rows}, where, checkpoint::Block{{0, first}, {23, end - first}});
    }
    DeviceModel(const DeviceModel &) = delete;

    HiddenDevice device;
    GpuMemory memory;
    Status watched;
    std::vector<checkpoint::Buffer> buffers;

    static std::byte value(uint64_t step, size_t parameter, uint64_t at) {
        return std::byte((step * 31 + parameter * 7 + at * 13 + at / 251) & 0xff);
    }
    void fill(uint64_t step) {
        for (size_t p = 0; p < buffers.size(); ++p)
            for (uint64_t i = 0; i < buffers[p].bytes; ++i)
                seen(p)[i] = value(step, p, index(p, i));
    }
    // Fills through the program's stream, which the GPU has not run yet.
    void fill_later(uint64_t step) {
        device.program.emplace_back([this, step] { fill(step); });
    }
    // Returns the first buffer whose content is not that of `step`, or an empty string.
    [[nodiscard]] std::string differs(uint64_t step) {
        for (size_t p = 0; p < buffers.size(); ++p)
            for (uint64_t i = 0; i < buffers[p].bytes; ++i)
                if (seen(p)[i] != value(step, p, index(p, i)))
                    return format_text("%s at byte %d", buffers[p].parameter.name.c_str(), int(i));
        return "";
    }

  private:
    uint64_t index(size_t p, uint64_t i) const {
        const checkpoint::Buffer &buffer = buffers[p];
        return buffer.parameter.sharded ? index_of(buffer.block, buffer.parameter.shape, i) : i;
    }
    std::byte *seen(size_t p) {
        return buffers[p].device ? device.behind(buffers[p].data) : buffers[p].data;
    }
    void add(const char *name, std::vector<uint64_t> shape, Where where,
             std::optional<checkpoint::Block> block = std::nullopt) {
        checkpoint::Buffer buffer;
        buffer.parameter = {.name = name, .dtype = RINGRT_UINT8, .shape = shape};
        buffer.bytes = bytes_of(buffer.parameter);
        if (block) hold_block(buffer, *block);
        const bool on_device =
            where == Where::device || (where == Where::mixed && buffers.size() % 2 == 0);
        if (on_device && buffer.bytes > 0) {
            buffer.data = device.make<std::byte>(buffer.bytes);
            buffer.device = &memory;
        } else {
            buffer.data = host_.emplace_back(new std::byte[buffer.bytes + 1]).get();
        }
        buffers.push_back(std::move(buffer));
    }
    std::vector<std::unique_ptr<std::byte[]>> host_;
};

}  // namespace ringrt::test
