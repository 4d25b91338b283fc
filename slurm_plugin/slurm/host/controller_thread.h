// SPDX-License-Identifier: GPL-2.0-or-later
// The thread that runs the controller. Nothing of its host waits for it: stop() comes back within
// kStopWait even when a pass hangs in an RPC to a slurmctld that is shutting down; what the thread
// uses is then never freed.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "slurm_plugin/slurm/host/host.h"

namespace ringrt::slurm {

// A host is one of these that has a log and a place for the facts.
class ControllerThread : public Host {
  public:
    static constexpr std::chrono::milliseconds kStopWait{300};

    // name: of the thread, at most 15 characters; it must last.
    explicit ControllerThread(const char *name) : name_(name) {}

    [[nodiscard]] bool start();
    // Waits so long at most. False: the thread still hangs in a call to Slurm and uses this object.
    bool stop(std::chrono::milliseconds wait = kStopWait);
    void reload();  // read malleable.yaml again; returns at once

    [[nodiscard]] bool wait(double seconds) final;
    [[nodiscard]] bool take_reload() final;
    [[nodiscard]] bool is_reload_due() final;

    // Called last by the thread, of whatever it ended.
    virtual void ended() {}

  private:
    static void *main(void *self) noexcept;

    const char *name_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false, ended_ = false, reload_ = false;
    pthread_t thread_{};
};

}  // namespace ringrt::slurm
