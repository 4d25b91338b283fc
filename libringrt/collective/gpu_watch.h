// SPDX-License-Identifier: BSD-3-Clause
// GpuWatch: a thread that looks, every few milliseconds, after what was enqueued on the GPU. The
// program's thread may be inside cudaStreamSynchronize(), where nobody but NCCL could end its wait.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace ringrt {

class GpuWatch {
  public:
    // look(): whether there is more to look after. It does not throw.
    explicit GpuWatch(std::function<bool()> look);
    ~GpuWatch();
    GpuWatch(const GpuWatch &) = delete;
    GpuWatch &operator=(const GpuWatch &) = delete;

    // Something was enqueued.
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
