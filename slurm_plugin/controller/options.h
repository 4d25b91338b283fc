// SPDX-License-Identifier: BSD-3-Clause
// The controller's parameters in one table. The parser of malleable.yaml, its man page, `ringsim`
// and the tests all read it, so they cannot diverge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ringrt::controller {

enum class Mode : uint8_t { act, observe, off, detach };
enum class Reclaim : uint8_t { any, higher_priority };
enum class Resize : uint8_t { requeue, live };
enum class Pausing : uint8_t { asked, never, all };

struct Options {
    Mode mode = Mode::observe;  // changes nothing until the site sets another mode
    std::string policy = "doubling";
    double interval_s = 10;     // between two decisions while nothing changes
    double idle_poll_s = 1;     // between two polls of Slurm while no resize is under way
    double busy_poll_s = 0.25;  // ... while a resize is under way or a job is to be released
    double settle_s = 20;       // run time before a job without telemetry is asked
    double min_resize_interval_s =
        60;                       // between two resizes of one job while no job is pending for GPUs
    double signal_again_s = 5;    // repeats the signal while a job is asked
    double release_delay_s = 1;   // from a job's end to its release, by slurmctld's clock
    double requeue_hold_s = 121;  // start delay of a requeue; Slurm reports it, not the yaml
    double submit_hold_s = 10;    // start delay that job_submit sets
    double fit_wait_s = 10;       // a released job that has not started by then gets what is free
    double back_off_s = 60;       // after a called-off resize; doubles each time
    double grace_most_s = 600;  // limit for any job, from the signal until the resize is called off
    int resizes_in_flight = 8;  // at most, in all and for one user (storm limit)
    int breaker_jobs = 5;       // after this many resizes in a row went wrong, no job is asked ...
    double breaker_pause_s = 600;     // ... for this long
    double payback = 1;               // a growth must save more seconds than payback x restart cost
    double restart_s = 10;            // assumed restart cost until the job's own is measured
    Resize resize = Resize::requeue;  // how jobs are resized
    std::string extension_partition, extension_qos;  // for extensions; empty: as their base
    Pausing pause = Pausing::asked;                  // which jobs may be paused (doc/pausing.md)
    double pause_longest_s = 14400;  // then a paused job is pending like any other again
    Reclaim reclaim = Reclaim::any;  // which pending rigid jobs get borrowed GPUs back
    std::map<std::string, double, std::less<>> policy_params;  // declared by policies, if set

    [[nodiscard]] double grace_of(double own_s) const { return std::min(own_s, grace_most_s); }
};

enum class ParameterType : uint8_t { seconds, number, integer, choice, name };

// One row per parameter. get and set use the `text` of malleable.yaml.
struct Parameter {
    std::string_view name;
    ParameterType type = ParameterType::number;
    double low = 0, high = 0;  // inclusive, for numbers
    std::string_view choices;  // "act|observe|off", for a choice
    std::string_view help;     // one line, for the man page
};

[[nodiscard]] std::span<const Parameter> parameters();
[[nodiscard]] const Parameter *find_parameter(std::string_view name);  // nullptr: unknown key

// Sets one parameter from its text. On error `options` stays unchanged, and the result is one line
// with the given and the valid values.
[[nodiscard]] std::optional<std::string> set_parameter(Options &options, std::string_view name,
                                                       std::string_view text);
[[nodiscard]] std::string get_parameter(const Options &options, std::string_view name);

}  // namespace ringrt::controller
