// SPDX-License-Identifier: BSD-3-Clause
// What the controller did and why, one value per step of a resize. The plugin writes them to
// slurmctld.log and as JSON lines to its event log; ringstat, ringsim and the demo read those.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace ringrt::controller {

enum class EventKind : uint8_t {
    released,       // a pending job got its size and was released
    downsized,      // its size was not free: it got a smaller one
    asked,          // the signal was sent: save and requeue yourself
    requeued,       // the job was requeued: it is pending again
    started,        // it runs, and no resize was under way
    resized,        // it runs again at its new size (gap_s)
    called_off,     // a resize was given up: the job goes on at its old size
    user_override,  // a user or administrator changed the job: their change stands
    launch_failed,  // Slurm holds it because a launch of it failed
    ended,          // the job finished, or is gone
    lost,           // the job ended while it was asked to leave
    refused,        // Slurm refused an update
    dry_run,        // mode observe: what would have been asked
    error,          // Slurm does not answer (job_id 0)
};

struct Event {
    double time_s = 0;  // Unix time
    uint32_t job_id = 0;
    EventKind kind = EventKind::started;
    int from = 0, to = 0;  // GPUs
    std::string reason;    // the policy's reason code, e.g. "best_gain"
    double gap_s = 0;      // of a resize: from the signal until it runs again
    std::string text;      // one line for people
    std::string name;      // of the job, hostile; empty: not known
    uint32_t user_id = 0;  // of the job, where its name is known
};

class EventSink {
  public:
    virtual ~EventSink() = default;
    virtual void write(const Event &event) = 0;
};

[[nodiscard]] std::string_view to_string(EventKind kind);

// {"time":1763721600.250,"job":12,"event":"resized","from":2,"to":8,"reason":"best_gain","gap_s":2.3,"text":"…",
//  "name":"train","user":1000}
[[nodiscard]] std::string to_json(const Event &event);  // one line, without the newline

// What such lines tell of before: slurmctld, killed, may have forgotten the last seconds.
struct Past {
    struct Ending {
        double time_s = 0;
        bool completed = false;  // with exit code 0, in its own time
    };
    std::map<uint32_t, double>
        asked_s;                       // jobs whose resize was under way at the end, and since when
    std::map<uint32_t, Ending> ended;  // jobs that did not begin anew since
    std::map<uint32_t, double> under_way_s;  // jobs asked or requeued last, and when
    bool goes_on = false;  // slurmctld was not killed: it has only read its configuration anew
};

// What the text of the end of a completed job, and of no other one, begins with.
inline constexpr std::string_view kCompleted = "has ended";

// A first line that is cut off, and what is no event, is passed over.
[[nodiscard]] Past past_of(const std::string &lines);

}  // namespace ringrt::controller
