// SPDX-License-Identifier: BSD-3-Clause
// Carries out one action on the cluster, and records the result in the job's tracker, the breaker,
// the statistics and the events.
#pragma once

#include <string>
#include <vector>

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/breaker.h"
#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/controller/recovery.h"
#include "slurm_plugin/controller/statistics.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

class Executor {
  public:
    Executor(Cluster &cluster, EventSink &events, Recovery &recovery, Statistics &statistics)
        : cluster_(cluster), events_(events), recovery_(recovery), statistics_(statistics) {}

    RpcStatus carry_out(const MalleableJob &job, const Action &action, JobTracker &tracker,
                        const Options &options, double now_s);
    // Cancels extensions whose base no longer runs. Ranks of an extension end with those of the
    // base; an extension that is pending or has not started its ranks does not.
    void cancel_strays(const Extensions &extensions, const Observation &observation, double now_s);
    // Mode observe: logs what would be asked, and changes nothing.
    void log_dry_run(const MalleableJob &job, const Action &action, JobTracker &tracker,
                     double now_s);
    // A job that was asked to resize ended by its own failure.
    void note_lost(uint32_t user_id, uint32_t job_id, const std::string &reason,
                   const Options &options, double now_s);

    // record: of the event's job, if known.
    void log(Event event, double now_s, const JobRecord *record = nullptr);
    [[nodiscard]] const Breaker &breaker() const { return breaker_; }

  private:
    RpcStatus write(const MalleableJob &job, const Action &action);
    RpcStatus extend(const JobRecord &base, const Action &action);
    RpcStatus dismiss(const Action &action);
    void note_success(const MalleableJob &job, const Action &action, JobTracker &tracker,
                      const Options &options, double now_s);
    void note_refusal(const MalleableJob &job, const Action &action, JobTracker &tracker,
                      const Options &options, double now_s);
    void note_later(const MalleableJob &job, const Action &action, JobTracker &tracker,
                    const Options &options, double now_s);
    void note_failure(uint32_t user_id, uint32_t job_id, const Options &options, double now_s);
    void bill_anew(const MalleableJob &job, double now_s);
    void count(uint64_t ResizeCounts::*member, const std::string &reason);

    Cluster &cluster_;
    EventSink &events_;
    Recovery &recovery_;
    Statistics &statistics_;
    Breaker breaker_;
};

// A record that Slurm refused (say, a site's job_modify) is not written again in each pass.
[[nodiscard]] inline bool is_put_off(const Action &action, const JobTracker &tracker,
                                     double now_s) {
    using enum Action::Kind;
    const bool writes = action.kind == note || action.kind == call_off || action.kind == make_rigid;
    return writes && tracker.write_pause.holds(now_s);
}

}  // namespace ringrt::controller
