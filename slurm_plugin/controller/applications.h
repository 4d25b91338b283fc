// SPDX-License-Identifier: BSD-3-Clause
// What jobs have measured, by application: a user's jobs of one name, as a site knows its jobs. A
// new job of an application is valued by what those before it measured, and each by all of them.
//
// What a job tells can be forged (records/telemetry.h), so nothing is shared between users. Lost
// with the controller; the jobs that run tell it again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "model/speed.h"
#include "slurm_plugin/controller/cluster.h"

namespace ringrt::controller {

struct Application {
    uint32_t batch = 0;                      // of the steps below; 0: each job's own steps
    std::vector<model::SpeedSample> speeds;  // the newest of each size, sizes rising
    double restart_s = 0;                    // of the last job that measured one; 0: not known
    double steps_total = 0;                  // of a whole training, done and left; 0: not known
    double told_s = 0;                       // when a job last told anything

    bool operator==(const Application &) const = default;
};

class Applications {
  public:
    static constexpr std::size_t kMost = 1000;  // the one that was silent for longest goes

    // From what the job has told; nothing of one without a name of its own ("wrap"). Another batch
    // is another program: what was known is forgotten.
    void learn(const JobRecord &job, double now_s);
    // nullptr: nothing is known. Valid until the next learn().
    [[nodiscard]] const Application *find(const JobRecord &job) const;

  private:
    using Key = std::tuple<uint32_t, std::string, std::string>;  // user, name, kind of GPU
    static Key key_of(const JobRecord &job) { return {job.user_id, job.name, job.gpu_kind}; }
    Application &insert(const Key &key);

    std::map<Key, Application> known_;
};

}  // namespace ringrt::controller
