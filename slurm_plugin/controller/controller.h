// SPDX-License-Identifier: BSD-3-Clause
// The resize loop: observe, decide, act. One call of pass() is one round; it never throws and does
// not block by itself.
//
// A restart needs each job's intent (in its Slurm record) and the journal (journal.h) of the last
// seconds before slurmctld was killed. The trackers (tracker.h) may be lost: each pending job is
// then fenced anew, and pauses end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/applications.h"
#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/decision_clock.h"
#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/controller/executor.h"
#include "slurm_plugin/controller/explain.h"
#include "slurm_plugin/controller/in_flight.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/job_machine.h"
#include "slurm_plugin/controller/journal.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/controller/recovery.h"
#include "slurm_plugin/controller/statistics.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

class Controller {
  public:
    Controller(Cluster &cluster, EventSink &events, Options options);
    Controller(const Controller &) = delete;
    Controller &operator=(const Controller &) = delete;

    // One round at Unix time now_s; returns the Unix time of the next call.
    double pass(double now_s) noexcept;

    void set_options(Options options) {  // at a reload
        options_ = std::move(options);
        settled_version_ = 0;
    }
    // Call before the first pass. begun_s: when a controller first acted here since slurmctld was
    // started; none: now.
    void restore(Journal journal, std::optional<double> begun_s = std::nullopt) {
        recovery_.restore(std::move(journal), begun_s);
    }
    [[nodiscard]] const Options &options() const { return options_; }
    [[nodiscard]] const Statistics &statistics() const { return statistics_; }
    // Why each job has its size and what prevents another, as of the last pass; nullopt if that
    // pass found nothing new.
    [[nodiscard]] std::optional<std::vector<Explanation>> explanations() const;

  private:
    double round(double now_s);
    [[nodiscard]] bool is_quiet(double now_s) const;
    [[nodiscard]] bool acts() const {
        return options_.mode == Mode::act || options_.mode == Mode::detach;
    }
    double pass_threw(double now_s, const char *what) noexcept;
    double observe_failed(double now_s, RpcStatus status);
    void collect_jobs(double now_s);
    void count(const MalleableJob &job, const JobTracker &tracker, double now_s);
    void forget_ended(double now_s);
    double carry_out_plan(double now_s);
    [[nodiscard]] PassContext context_of(std::size_t job, bool is_time, double now_s) const;
    void log(std::vector<Event> events, double now_s);
    [[nodiscard]] const JobRecord *find(uint32_t job_id) const;

    Cluster &cluster_;
    Options options_;
    Statistics statistics_;
    Recovery recovery_;
    Executor executor_;
    Observation observation_;
    Extensions extensions_;  // removed from observation_
    std::map<uint32_t, JobTracker> trackers_;
    Applications applications_;
    std::vector<MalleableJob> jobs_;  // of this pass, pointing into observation_
    Plan plan_;                       // of this pass
    DecisionClock clock_;
    uint64_t settled_version_ = 0;  // state in which nothing was left to do; 0: there is work
    InFlight in_flight_;            // as of this pass
    double renewal_s_ = 0;          // when the start time of a paused job is to be renewed
    double observed_s_ = 0;         // last observation
    double gap_end_s_ = 0;          // end of the last gap in the polls
    int failures_ = 0;              // failed observations in a row
};

}  // namespace ringrt::controller
