// SPDX-License-Identifier: GPL-2.0-or-later
// The one thread of sched/doubling. It runs the controller's passes and nothing of Slurm waits for
// it: stop() comes back within kStopWait even when a pass hangs in an RPC to a slurmctld that is
// shutting down; what the thread uses is then never freed.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "slurm_plugin/slurm/sched_facts.h"
#include "slurm_plugin/slurm/yaml_options.h"

namespace ringrt::slurm {

class ControllerThread {
  public:
    static constexpr std::chrono::milliseconds kStopWait{300};

    bool start();
    // False: the thread still hangs in a call to Slurm and uses this object.
    bool stop();
    void reload();  // at `scontrol reconfigure`: read malleable.yaml again; returns at once

    SchedFacts &facts() { return facts_; }

  private:
    static void *main(void *self) noexcept;
    void run();
    void serve();  // one life of the controller; ends at stop or by an exception
    [[nodiscard]] bool wait(double seconds);  // false: stop
    bool take_reload();
    [[nodiscard]] PluginOptions accepted_options(const std::string &yaml,
                                                 const std::string &last_good);

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false, ended_ = false, reload_ = false;
    pthread_t thread_{};
    SchedFacts facts_;
    PluginOptions options_;
    bool have_options_ = false;  // options_ came from a file that was accepted
};

}  // namespace ringrt::slurm
