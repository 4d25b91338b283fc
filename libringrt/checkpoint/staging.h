// SPDX-License-Identifier: BSD-3-Clause
// Host memory through which the bytes of device buffers pass, so that its size is bounded. It has
// two halves: the device copies one while the other is written to disk, read or sent.
#pragma once

#include <cstddef>
#include <string>

#include "libringrt/checkpoint/layout.h"

namespace ringrt::checkpoint {

class Staging {
  public:
    Staging() = default;
    ~Staging() { close(); }
    Staging(const Staging &) = delete;
    Staging &operator=(const Staging &) = delete;

    // Call before the first copy. A later call only grows the memory, if a piece is larger than a
    // half. `buffer` and all copied buffers are in the memory of one device.
    Status open(const Buffer &buffer, size_t largest_piece);
    [[nodiscard]] std::byte *half() const { return memory_ + (second_ ? half_bytes_ : 0); }
    [[nodiscard]] size_t half_bytes() const { return half_bytes_; }
    void flip() { second_ = !second_; }

    // Copies between a half and the memory of `buffer`.
    Status start_copy(const Buffer &buffer, void *out, const void *in, size_t bytes);
    // Waits for all copies.
    Status wait();
    // Whether the device failed.
    [[nodiscard]] bool failed() const { return failed_; }

  private:
    void close() noexcept;
    Status as_device_failure(Status outcome);

    DeviceMemory *device_ = nullptr;
    std::byte *memory_ = nullptr;
    size_t half_bytes_ = 0;
    bool second_ = false, running_ = false, failed_ = false;
    std::string first_, last_;  // first and last buffer copied after the last wait
};

// Bytes of each half, for pieces of at most `largest_piece` bytes.
[[nodiscard]] size_t half_bytes_of(const DeviceMemory &device, size_t largest_piece);

}  // namespace ringrt::checkpoint
