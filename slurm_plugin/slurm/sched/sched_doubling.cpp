// SPDX-License-Identifier: GPL-2.0-or-later
// The plugin sched/doubling, as slurmctld calls it. It loads Slurm's own backfill for all jobs and
// runs the controller of malleable jobs on a separate thread.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "slurm_plugin/slurm/host/controller_thread.h"
#include "slurm_plugin/slurm/sched/backfill_host.h"
#include "slurm_plugin/slurm/sched/sched_facts.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace {

using ringrt::slurm::BackfillHost;
using ringrt::slurm::ControllerThread;
using ringrt::slurm::SchedFacts;

class PluginThread final : public ControllerThread {
  public:
    explicit PluginThread(bool is_reconfigured)
        : ControllerThread("sched_doubling"), is_reconfigured_(is_reconfigured) {}

    void info(const std::string &line) override { slurm_info("sched/doubling: %s", line.c_str()); }
    void error(const std::string &line) override {
        slurm_error("sched/doubling: %s", line.c_str());
    }
    [[nodiscard]] std::string_view reload_command() const override {
        return "scontrol reconfigure";
    }
    [[nodiscard]] bool take_reconfigured() override {
        return std::exchange(is_reconfigured_, false);
    }
    void publish(const ringrt::slurm::SlurmCluster &cluster, int hold_s,
                 bool keeps_records) override {
        facts_.publish(cluster, hold_s, keeps_records);
    }
    SchedFacts &facts() { return facts_; }

  private:
    SchedFacts facts_;
    bool is_reconfigured_;
};

// slurmctld's threads may use it until the process ends. A backup slurmctld starts and stops it
// each time that it takes over and hands back.
constinit BackfillHost backfill;
static_assert(std::is_trivially_destructible_v<BackfillHost>);

// Never freed: its thread may block in an RPC and continue after fini().
std::atomic<PluginThread *> thread = nullptr;

// A pass that blocks in an RPC may return after fini(): its code must still be loaded.
void keep_loaded() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void *>(keep_loaded), &info) != 0)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

// From 23.11 on, `scontrol reconfigure` ends this process cleanly and starts a new one with this
// variable set. A backup that takes over later in the same process has not seen the last seconds.
bool goes_on_after_reconfigure() {
    static bool is_first = true;
    return std::exchange(is_first, false) && std::getenv("SLURMCTLD_RECONF") != nullptr;
}

// Malleability is optional: if it cannot start, Slurm runs without it.
void start_controller() noexcept {
    try {
        auto *fresh = new PluginThread(goes_on_after_reconfigure());
        if (fresh->start())
            thread = fresh;
        else
            slurm_error("sched/doubling: cannot start a thread; nothing is resized");
    } catch (const std::exception &error) {
        slurm_error("sched/doubling: %s; nothing is resized", error.what());
    }
}

int start_backfill() noexcept {
    try {
        std::string error;
        if (backfill.start(&error)) return SLURM_SUCCESS;
        slurm_error("sched/doubling: cannot load Slurm's backfill: %s", error.c_str());
    } catch (const std::exception &error) {
        slurm_error("sched/doubling: %s", error.what());
    }
    return SLURM_ERROR;
}

}  // namespace

extern "C" {

extern RINGRT_PLUGIN_SYMBOL const char plugin_name[] =
    "Malleable jobs in addition to Slurm's backfill";
extern RINGRT_PLUGIN_SYMBOL const char plugin_type[] = "sched/doubling";
extern RINGRT_PLUGIN_SYMBOL const uint32_t plugin_version = SLURM_VERSION_NUMBER;

RINGRT_PLUGIN_SYMBOL int init() {
    keep_loaded();
    if (start_backfill() != SLURM_SUCCESS) return SLURM_ERROR;
    start_controller();
    return SLURM_SUCCESS;
}

RINGRT_PLUGIN_SYMBOL int fini() {
    if (PluginThread *present = thread.exchange(nullptr)) present->stop();
    backfill.stop();
    return SLURM_SUCCESS;
}

RINGRT_PLUGIN_SYMBOL int sched_p_reconfig() {
    if (PluginThread *present = thread) present->reload();
    backfill.reconfigure();
    return SLURM_SUCCESS;
}

// For job_submit/malleable (sched_view.h).
RINGRT_PLUGIN_SYMBOL int ringrt_partition_view(const char *partition, RingrtPartitionView *out) {
    PluginThread *present = thread;
    return present != nullptr && present->facts().partition(partition, out) ? 0 : -1;
}

RINGRT_PLUGIN_SYMBOL int ringrt_intent_text(const char *job, char *out, std::size_t size) {
    PluginThread *present = thread;
    return present != nullptr && present->facts().intent_text(job, out, size) ? 0 : -1;
}

}  // extern "C"
