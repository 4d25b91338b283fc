// SPDX-License-Identifier: BSD-3-Clause
// What the controller did and why, one value for each step of a resize. The plugin writes events to
// slurmctld.log and, as JSON lines, to its event log for people and tools (ringstat, ringsim, the
// demo). No controller reads those; it reads the journal (journal.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::controller {

enum class EventKind : uint8_t {
    released,       // a pending job got its size and was released
    downsized,      // its size was not free: it got a smaller one
    asked,          // the job was signalled to save and requeue
    requeued,       // the job was requeued: it is pending again
    started,        // it runs, and no resize was under way
    resized,        // it runs again at its new size (gap_s)
    called_off,     // a resize was given up: the job continues at its old size
    user_override,  // a user or administrator changed the job: the change stands
    launch_failed,  // Slurm holds it because a launch failed
    ended,          // the job finished, or is no longer listed
    lost,           // the job ended while it was asked
    refused,        // Slurm refused an update
    paused,         // it left its GPUs and is pending until its pause ends
    resumed,        // its pause ended: it was released
    extension,      // in place: an extension was submitted, signalled to leave, or cancelled
    dry_run,        // mode observe: the job would have been asked
    error,          // Slurm does not answer (job_id 0)
};

// The result, for programs; the text is for people.
enum class Outcome : uint8_t {
    none,
    resize,     // requeued: it left for its resize
    recovered,  // requeued: slurmctld had forgotten that it left
    completed,  // ended: exit code 0, before any limit
    cancelled,  // ended: by its user or an administrator
    failed,     // ended or lost: its own failure
    by_slurm,   // ended: time limit reached, or a node was lost
    gone,       // ended: Slurm no longer shows it
};

struct Event {
    double time_s = 0;  // Unix time
    uint32_t job_id = 0;
    std::string array_task;  // "100_3" for an array task; else empty
    EventKind kind = EventKind::started;
    int from = 0, to = 0;  // GPUs
    std::string reason;    // the policy's reason code, e.g. "best_gain"
    Outcome outcome = Outcome::none;
    double gap_s = 0;      // of a resize: from the signal until it runs again
    std::string text;      // one line for people
    std::string name;      // of the job, untrusted; empty: not known
    uint32_t user_id = 0;  // of the job, if its name is known
};

class EventSink {
  public:
    virtual ~EventSink() = default;
    virtual void write(const Event &event) = 0;
};

[[nodiscard]] std::string_view to_string(EventKind kind);
[[nodiscard]] std::optional<EventKind> event_kind(std::string_view text);
[[nodiscard]] std::string_view to_string(Outcome outcome);
[[nodiscard]] std::optional<Outcome> outcome_of(std::string_view text);

// {"time":1763721600.250,"job":12,"event":"resized","from":2,"to":8,"reason":"best_gain","gap_s":2.3,
// "text":"…","name":"train","user":1000}; "outcome", if any, precedes the text, and
// "array_task":"100_3" comes last.
[[nodiscard]] std::string to_json(const Event &event);  // one line, without the newline

}  // namespace ringrt::controller
