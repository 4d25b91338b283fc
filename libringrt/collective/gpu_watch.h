// SPDX-License-Identifier: BSD-3-Clause
// GpuWatch: a thread that checks, every few milliseconds, the work enqueued on the GPU. The
// program's thread may be blocked in cudaStreamSynchronize(), and then only NCCL can end its wait.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace ringrt {

class GpuWatch {
  public:
    // look() returns whether there is more to watch. It must not throw.
    explicit GpuWatch(std::function<bool()> look);
    ~GpuWatch();
    GpuWatch(const GpuWatch &) = delete;
    GpuWatch &operator=(const GpuWatch &) = delete;

    // Call it after enqueueing work.
    void wake();

  private:
    void run();

    const std::function<bool()> look_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool wanted_ = false, stop_ = false;
    std::thread thread_;
};

}  // namespace ringrt
