// SPDX-License-Identifier: BSD-3-Clause
// A communicator that starts on its own thread while another one is in use, with NCCL, and then its
// spares: communicators of the same ranks, for the handles of a program.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "libringrt/collective/communicator.h"
#include "libringrt/live/state_machine.h"

namespace ringrt::live {

struct Spares {
    std::vector<std::unique_ptr<Communicator>> left;  // those that no handle has taken
    // CommunicatorConfig::retired, of those that are taken, too
    std::shared_ptr<std::atomic<bool>> retired = std::make_shared<std::atomic<bool>>(false);
};

// Of the stack of communicators.
struct Level {
    std::unique_ptr<Communicator> own;
    Spares spares;
};

class Forming {
  public:
    struct Wanted {
        int gpu = -1;    // of this rank, if it is going to use NCCL; -1: none, or not known
        int spares = 0;  // the same at all ranks
        int below = 0;   // the ranks of the present level, which get new spares too; 0: none
    };
    Forming(CommunicatorConfig config, Wanted wanted);
    ~Forming();  // aborts it and waits for the thread
    Forming(const Forming &) = delete;
    Forming &operator=(const Forming &) = delete;

    [[nodiscard]] Formed state() const { return state_.load(std::memory_order_acquire); }
    // Valid only in the state Formed::done.
    [[nodiscard]] Communicator &communicator() { return *communicator_; }
    [[nodiscard]] Level take();
    [[nodiscard]] Spares take_spares_below() { return std::move(below_); }
    // Its peers see a loss. Does not wait for the thread.
    void abort() noexcept;
    // For a rank that cannot wait: the first reduction starts NCCL, as if no GPU were known.
    void skip_nccl() noexcept { communicator_->skip_nccl_ahead(); }
    // In the state Formed::failed. PEER_LOST, unless NCCL failed here.
    [[nodiscard]] const Status &outcome() const { return outcome_; }

  private:
    void add_spares(const CommunicatorConfig &config, int count, int ranks, Spares &out);
    Status start(int gpu);

    std::unique_ptr<Communicator> communicator_;
    Spares spares_, below_;
    std::atomic<Formed> state_{Formed::under_way};
    Status outcome_{RINGRT_PEER_LOST, ""};  // written before state_
    std::thread thread_;
};

}  // namespace ringrt::live
