// SPDX-License-Identifier: BSD-3-Clause
// Host memory through which the bytes of a device's buffers pass, so that it is bounded whatever
// passes. Two halves: the device copies one while the other is written to disk, read, or sent.
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

    // Before the first copy; what is open already only grows, where a piece is larger than a half.
    // `buffer` is in a device's memory, and all that are copied are in the same device's.
    Status open(const Buffer &buffer, size_t largest_piece);
    [[nodiscard]] std::byte *half() const { return memory_ + (second_ ? half_bytes_ : 0); }
    [[nodiscard]] size_t half_bytes() const { return half_bytes_; }
    void flip() { second_ = !second_; }

    // Between a half and memory of `buffer`.
    Status start_copy(const Buffer &buffer, void *out, const void *in, size_t bytes);
    // Until all is over.
    Status wait();
    // Something went wrong, and it was the device.
    [[nodiscard]] bool failed() const { return failed_; }

  private:
    void close() noexcept;
    Status told(Status outcome);

    DeviceMemory *device_ = nullptr;
    std::byte *memory_ = nullptr;
    size_t half_bytes_ = 0;
    bool second_ = false, running_ = false, failed_ = false;
    std::string first_, last_;  // names of buffers since the last wait
};

// Of each half, for pieces of so many bytes at most.
[[nodiscard]] size_t half_bytes_of(const DeviceMemory &device, size_t largest_piece);

}  // namespace ringrt::checkpoint
