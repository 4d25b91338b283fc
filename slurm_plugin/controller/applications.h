// SPDX-License-Identifier: BSD-3-Clause
// Measurements of jobs, by application: the jobs of one user with one name and one batch. A new job
// is valued by the measurements of its application's earlier jobs, and each job by those of all.
//
// Telemetry can be forged (records/telemetry.h), so users share nothing. The data is lost with the
// controller; running jobs report it again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/speed.h"
#include "slurm_plugin/controller/cluster.h"

namespace ringrt::controller {

struct Application {
    uint32_t batch = 0;                      // of the steps below; 0: each job's own steps
    std::vector<model::SpeedSample> speeds;  // the newest for each size, by rising size
    double restart_s = 0;                    // of the last job that restarted; 0: not known
    double steps_total = 0;                  // of a whole training, done and left; 0: not known
    double reported_s = 0;                   // when a job last reported anything

    bool operator==(const Application &) const = default;
};

class Applications {
  public:
    // The one silent for longest is dropped.
    static constexpr std::size_t kMost = 1000;
    static constexpr std::size_t kBatchesMost = 8;  // of one user, name and GPU type

    // Learns from the job's telemetry, except for a job without a name of its own ("wrap"). Another
    // batch is another application: its steps take another time.
    void learn(const JobRecord &job, double now_s);
    // nullptr: nothing is known. Valid until the next learn().
    [[nodiscard]] const Application *find(const JobRecord &job) const;

  private:
    // User, name, GPU type, batch.
    using Key = std::tuple<uint32_t, std::string, std::string, uint32_t>;
    static Key key_of(const JobRecord &job, uint32_t batch) {
        return {job.user_id, job.name, job.gpu_type, batch};
    }
    using Known = std::map<Key, Application>;
    static bool reported_before(const Known::value_type &a, const Known::value_type &b) {
        return a.second.reported_s < b.second.reported_s;
    }
    [[nodiscard]] std::pair<Known::const_iterator, Known::const_iterator> batches_of(
        const JobRecord &job) const {
        return {known_.lower_bound(key_of(job, 0)), known_.upper_bound(key_of(job, UINT32_MAX))};
    }
    Application &insert(const JobRecord &job, uint32_t batch);

    Known known_;
};

}  // namespace ringrt::controller
