// SPDX-License-Identifier: GPL-2.0-or-later
// The thread that runs the controller. It never blocks its host: stop() returns within kStopWait
// even if a pass blocks in an RPC to a slurmctld that is shutting down. What the thread uses is
// then never freed.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "slurm_plugin/slurm/host/host.h"

namespace ringrt::slurm {

// Base of the hosts, which add a log and a place for the facts.
class ControllerThread : public Host {
  public:
    static constexpr std::chrono::milliseconds kStopWait{300};

    // `name`: of the thread, at most 15 characters; must outlive it.
    explicit ControllerThread(const char *name) : name_(name) {}

    [[nodiscard]] bool start();
    // Waits at most this long. False: the thread is still in a call to Slurm and uses this object.
    bool stop(std::chrono::milliseconds wait = kStopWait);
    void reload();  // rereads malleable.yaml; returns at once

    [[nodiscard]] bool wait(double seconds) final;
    [[nodiscard]] bool take_reload() final;
    [[nodiscard]] bool is_reload_due() final;
    // Not after stop(): a pass that still runs changes nothing more. A backup slurmctld that has
    // given back control would otherwise change jobs together with the primary.
    [[nodiscard]] bool may_act() const override;

    // The thread's last call, whatever ended it.
    virtual void ended() {}

  private:
    static void *main(void *self) noexcept;

    const char *name_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false, ended_ = false, reload_ = false;
    pthread_t thread_{};
};

}  // namespace ringrt::slurm
