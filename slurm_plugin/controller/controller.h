// SPDX-License-Identifier: BSD-3-Clause
// The resize loop: observe, decide, act. One call of pass() is one round; it never blocks by itself
// and never throws. What must survive a restart is in the jobs' records; the controller's own
// memory (when it last signalled, back-off) only paces it and may be lost at any time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "slurm_plugin/controller/breaker.h"
#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/controller/job_machine.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/controller/statistics.h"

namespace ringrt::controller {

class Controller {
  public:
    Controller(Cluster &cluster, EventSink &events, Options options);

    // One round at Unix time now_s; returns when it wants to be called next (Unix time).
    double pass(double now_s) noexcept;

    void set_options(Options options) {  // at a reload
        options_ = std::move(options);
        settled_version_ = 0;
    }
    // slurmctld, killed, may have forgotten the last seconds, and the jobs' own records with them.
    void remember(Past past) { past_ = std::move(past); }
    [[nodiscard]] const Options &options() const { return options_; }
    [[nodiscard]] const Statistics &statistics() const { return statistics_; }

  private:
    double round(double now_s);
    [[nodiscard]] bool is_quiet(double now_s) const;
    double pass_threw(double now_s, const char *what) noexcept;
    double observe_failed(double now_s, RpcStatus answer);
    std::vector<JobView> look(double now_s);
    void forget_ended(double now_s);
    void forget(uint32_t job_id, const JobMemory &memory, const JobRecord *record, double now_s);
    [[nodiscard]] bool are_usable(const std::vector<int> &nodes) const;
    [[nodiscard]] bool was_watched(const JobRecord &record, double now_s) const;
    void look_for_gone(const std::vector<JobView> &jobs, double now_s);
    RpcStatus settle_gone(uint32_t job_id, double now_s);
    [[nodiscard]] const Past::Ending *ending_of_run(uint32_t job_id) const;
    void note_failed_launches(double now_s);
    bool bring_back(double now_s);
    [[nodiscard]] bool was_taken_down(const JobRecord &record, double now_s) const;
    void notice(const JobView &job, JobMemory &memory, double now_s);
    bool is_time_to_decide(const std::vector<JobView> &jobs, double now_s);
    [[nodiscard]] Situation situation(const Decision &decision, std::size_t job,
                                      const JobRecord &record, double now_s,
                                      bool time_to_decide) const;
    [[nodiscard]] std::vector<char> pools_with_room_coming(const Decision &decision,
                                                           const std::vector<JobView> &jobs) const;
    RpcStatus act(const JobView &job, Step &step, JobMemory &memory, double now_s);
    void done(const JobView &job, const Step &step, JobMemory &memory, double now_s);
    void count_gpus(const JobView &job);
    void count(uint64_t ResizeCounts::*member, const std::string &reason);
    void went_wrong(uint32_t job_id, double now_s);
    void refused(const JobView &job, const Step &step, JobMemory &memory, double now_s);
    void only_say(const JobView &job, const Step &step, JobMemory &memory, double now_s);
    void say(uint32_t job_id, double now_s, Event event);

    Cluster &cluster_;
    EventSink &events_;
    Options options_;
    Statistics statistics_;
    Breaker breaker_;
    Observation observation_;
    uint64_t settled_version_ = 0;  // of the state in which nothing was left to do; 0: something is
    std::map<uint32_t, JobMemory> memory_;
    double decided_s_ = 0;
    std::string decided_for_;  // who was there, at which sizes, when it was last decided
    bool has_looked_ = false;
    double begun_s_ = 0;      // first pass
    double observed_s_ = 0;   // last observation ...
    double unwatched_s_ = 0;  // ... and the last one before which nobody had looked for a while
    Past past_;               // as the event log told it at the start
    // Jobs that ran when the controller started, and when to ask the node whether it knows of them.
    std::vector<std::pair<uint32_t, double>> maybe_gone_;
    int failures_ = 0;  // observations in a row
};

// The present decision for one job, for `ringstat explain`: no memory, nothing touched.
struct Explanation {
    uint32_t job_id = 0;
    int gpus = 0;        // now
    int wanted = 0;      // by the policy; 0: it waits
    std::string reason;  // code
    std::string text;    // why this size, and what would change it
};

[[nodiscard]] std::vector<Explanation> explain(const Observation &observation,
                                               const Options &options);

}  // namespace ringrt::controller
