// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/staging.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace ringrt::checkpoint {

size_t half_bytes_of(const DeviceMemory &device, size_t largest_piece) {
    return std::max({device.staging_bytes() / 2, largest_piece, size_t{1}});
}

// A GPU error must not look like a lost peer or a disk error.
Status Staging::as_device_failure(Status outcome) {
    if (outcome.ok()) return outcome;
    failed_ = true;
    if (outcome.code != RINGRT_ABORTED) outcome.code = RINGRT_SYSTEM_ERROR;
    outcome.message += ", during the copy of buffer " + first_;
    if (last_ != first_) outcome.message += " to " + last_;
    return outcome;
}

Status Staging::open(const Buffer &buffer, size_t largest_piece) {
    const size_t half_bytes = half_bytes_of(*buffer.device, largest_piece);
    if (memory_ && half_bytes <= half_bytes_) return {};
    close();
    first_ = last_ = buffer.parameter.name;
    device_ = buffer.device;
    RINGRT_TRY(as_device_failure(device_->begin()));
    void *made = nullptr;
    RINGRT_TRY(as_device_failure(device_->alloc(2 * half_bytes, &made)));
    memory_ = static_cast<std::byte *>(made);
    half_bytes_ = half_bytes;
    return {};
}

// Memory that may still be the target of a copy is not freed.
void Staging::close() noexcept {
    std::byte *memory = std::exchange(memory_, nullptr);
    if (!memory) return;
    try {
        if (running_) (void)device_->wait();
        device_->free(memory);
    } catch (const std::exception &) {  // no memory for the log line
    }
}

Status Staging::start_copy(const Buffer &buffer, void *out, const void *in, size_t bytes) {
    if (!running_) first_ = buffer.parameter.name;
    last_ = buffer.parameter.name;
    running_ = true;
    return as_device_failure(device_->start_copy(out, in, bytes));
}

Status Staging::wait() {
    return std::exchange(running_, false) ? as_device_failure(device_->wait()) : Status{};
}

}  // namespace ringrt::checkpoint
