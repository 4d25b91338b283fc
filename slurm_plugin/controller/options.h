// SPDX-License-Identifier: BSD-3-Clause
// The controller's parameters, in one table: malleable.yaml's parser, its man page, `ringsim` and
// the tests all read it, so that they cannot drift.
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

struct Options {
    Mode mode = Mode::observe;  // touches nothing until somebody has said so
    std::string policy = "doubling";
    double interval_s = 10;     // between two decisions while nothing changes
    double idle_poll_s = 1;     // between two looks at Slurm while nothing is under way
    double busy_poll_s = 0.25;  // ... while a resize is under way or a job waits to be released
    double settle_s = 20;       // run time before a job without telemetry is asked
    double min_resize_interval_s =
        60;                        // between two resizes of one job while nobody waits for GPUs
    double signal_again_s = 5;     // the signal is repeated while a job is asked
    double release_delay_s = 1;    // from a job's departure to its release, by slurmctld's clock
    double requeue_hold_s = 121;   // start time that a requeue sets; Slurm says it, not the yaml
    double submit_hold_s = 10;     // start time that job_submit sets
    double fit_wait_s = 10;        // a released job that has not started by then gets what is free
    double back_off_s = 60;        // after a resize that was called off; doubles each time
    double grace_most_s = 600;     // of any job, from the signal until the resize is called off
    int resizes_in_flight = 8;     // at most (storm limit), and of one user
    int breaker_jobs = 5;          // resizes of so many jobs gone wrong in a row: none is asked ...
    double breaker_pause_s = 600;  // ... for so long
    double payback = 1;            // a growth must save more seconds than payback x its restart's
    double restart_s = 10;         // assumed cost of a restart until a job's own is measured
    Resize resize = Resize::requeue;                 // how
    std::string extension_partition, extension_qos;  // of extensions; empty: their base's
    Reclaim reclaim = Reclaim::any;  // which waiting rigid jobs get borrowed GPUs back
    std::map<std::string, double, std::less<>> policy_params;  // set ones that policies declare

    [[nodiscard]] double grace_of(double own_s) const { return std::min(own_s, grace_most_s); }
};

enum class ParameterType : uint8_t { seconds, number, integer, choice, name };

// One row per parameter. `text` of get and set is what stands in malleable.yaml.
struct Parameter {
    std::string_view name;
    ParameterType type = ParameterType::number;
    double low = 0, high = 0;  // inclusive, for numbers
    std::string_view choices;  // "act|observe|off", for a choice
    std::string_view help;     // one line, for the man page
};

[[nodiscard]] std::span<const Parameter> parameters();
[[nodiscard]] const Parameter *find_parameter(std::string_view name);  // nullptr: unknown key

// Sets one parameter from its text. The error is one line: what was got and what is right;
// `options` is unchanged then.
[[nodiscard]] std::optional<std::string> set_parameter(Options &options, std::string_view name,
                                                       std::string_view text);
[[nodiscard]] std::string get_parameter(const Options &options, std::string_view name);

}  // namespace ringrt::controller
