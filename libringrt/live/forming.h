// SPDX-License-Identifier: BSD-3-Clause
// A communicator that starts on its own thread while another one is in use, with NCCL.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "libringrt/collective/communicator.h"
#include "libringrt/live/state_machine.h"

namespace ringrt::live {

class Forming {
  public:
    // `gpu`: of this rank, if it is going to use NCCL; -1: none, or not known.
    Forming(CommunicatorConfig config, int gpu);
    ~Forming();  // aborts it and waits for the thread
    Forming(const Forming &) = delete;
    Forming &operator=(const Forming &) = delete;

    [[nodiscard]] Formed state() const { return state_.load(std::memory_order_acquire); }
    // Valid only in the state Formed::done.
    [[nodiscard]] Communicator &communicator() { return *communicator_; }
    [[nodiscard]] std::unique_ptr<Communicator> take();
    // Its peers see a loss. Does not wait for the thread.
    void abort() noexcept { communicator_->abort(); }
    // For a rank that cannot wait: the first reduction starts NCCL, as if no GPU were known.
    void skip_nccl() noexcept { communicator_->skip_nccl_ahead(); }
    // In the state Formed::failed. PEER_LOST, unless NCCL failed here.
    [[nodiscard]] const Status &outcome() const { return outcome_; }

  private:
    std::unique_ptr<Communicator> communicator_;
    std::atomic<Formed> state_{Formed::under_way};
    Status outcome_{RINGRT_PEER_LOST, ""};  // written before state_
    std::thread thread_;
};

}  // namespace ringrt::live
