// SPDX-License-Identifier: BSD-3-Clause
// Closes communicators on a thread of its own, one after the other: to close sockets, threads and
// shared memory takes milliseconds, for which training would wait.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ringrt::live {

class Closer {
  public:
    Closer() = default;
    ~Closer() { wait(); }
    Closer(const Closer &) = delete;
    Closer &operator=(const Closer &) = delete;

    // Runs `close` after those given before; in this thread if no other can be created.
    void add(std::function<void()> close);
    // Until all are closed. Not beside add().
    void wait();

  private:
    void run();

    std::mutex mutex_;
    std::deque<std::function<void()>> open_;
    bool runs_ = false;   // the thread will look at open_ again
    std::thread thread_;  // ends when nothing is open
};

}  // namespace ringrt::live
