// SPDX-License-Identifier: BSD-3-Clause
// A communicator that starts on its own thread while another one is in use.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "libringrt/collective/communicator.h"
#include "libringrt/live/state_machine.h"

namespace ringrt::live {

class Forming {
  public:
    explicit Forming(CommunicatorConfig config);
    ~Forming();  // aborts it and waits for the thread
    Forming(const Forming &) = delete;
    Forming &operator=(const Forming &) = delete;

    [[nodiscard]] Formed state() const { return state_.load(std::memory_order_acquire); }
    // Valid only in the state Formed::done.
    [[nodiscard]] Communicator &communicator() { return *communicator_; }
    [[nodiscard]] std::unique_ptr<Communicator> take();
    // Its peers see a loss. Does not wait for the thread.
    void abort() noexcept { communicator_->abort(); }
    [[nodiscard]] std::string last_error() const { return communicator_->last_error(); }

  private:
    std::unique_ptr<Communicator> communicator_;
    std::atomic<Formed> state_{Formed::under_way};
    std::thread thread_;
};

}  // namespace ringrt::live
