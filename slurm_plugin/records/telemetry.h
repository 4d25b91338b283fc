// SPDX-License-Identifier: BSD-3-Clause
// Telemetry: what a running job reports to the scheduler, in the job's Comment.
//
// Rank 0 of the job (libringrt) writes it at most every 30 s, after the user's own text. Any owner
// of a job can forge it, so it is bounded and every number is range-checked. It can only influence
// how the job's own GPUs between MIN and MAX are valued.
//
//   ringrt/1 run=3 gpus=4 step=1200 step_ms=132.5 left=8800 batch=256 samples=307200 ckpt=1180
//   save_ms=210 began=1763721600.5 up=1 live=1 nodes=4021 speed=1:520,2:270,4:132.5
//   plan=2:268,4:131,8:70
//
// Step times and the steps left refer to steps of `batch` samples, at every size. So batch /
// step_ms is a speed and left x batch a number of samples, whatever the job's own step trains.
// Without `batch` (an older library, or not reported yet) they refer to the job's own steps.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::records {

struct SpeedSample {
    int gpus = 0;
    double step_ms = 0;

    bool operator==(const SpeedSample &) const = default;
};

inline constexpr int kSpeedSamplesMax = 12;
inline constexpr int kPlannedSpeedsMax = 8;

struct Telemetry {
    int run = 0;              // SLURM_RESTART_COUNT of the writing run
    int gpus = 0;             // ranks
    uint64_t step = 0;        // last finished step
    double step_ms = 0;       // smoothed step time at this size; 0: not measured yet
    int64_t steps_left = -1;  // -1: not known
    uint32_t batch = 0;       // samples in a step, for step_ms and steps_left; 0: not known
    uint64_t trained = 0;     // samples, in all runs
    uint64_t ckpt_step = 0;   // step of the newest committed checkpoint
    double save_ms = 0;       // last save; 0: none
    // Unix time at which this run's training began: the end of its first step, less the time of a
    // step. So what a first step compiles comes before it. 0: not measured yet.
    double began_s = 0;
    bool up = false;    // the runtime polls for the signal: a resize may be asked
    bool live = false;  // extensions may join and leave (doc/live.md)
    // Sum of node_checksum() over the nodes on which the base's ranks compute, in blocks; 0:
    // unknown, or they cannot leave by whole nodes.
    uint32_t nodes = 0;
    int samples = 0;                                    // number in `speed`
    std::array<SpeedSample, kSpeedSamplesMax> speed{};  // one per size of any run
    int planned_sizes = 0;  // number in `planned`: predicted by its plans, by rising size
    std::array<SpeedSample, kPlannedSpeedsMax> planned{};

    // In the units of steps_left.
    [[nodiscard]] double steps_done() const {
        return batch > 0 ? static_cast<double>(trained) / batch : static_cast<double>(step);
    }
    // At this size; 0: not known.
    [[nodiscard]] double samples_per_s() const {
        return step_ms > 0 ? std::min(1e15, 1000.0 * batch / step_ms) : 0;
    }

    bool operator==(const Telemetry &) const = default;
};

// Of a node's name, to compare sets of nodes (FNV-1a). Never 0.
[[nodiscard]] uint32_t node_checksum(std::string_view node);

[[nodiscard]] std::optional<Telemetry> parse_telemetry(std::string_view text);
[[nodiscard]] std::string format_telemetry(const Telemetry &telemetry);
// `user_text` with its telemetry replaced or appended.
[[nodiscard]] std::string format_into(std::string_view user_text, const Telemetry &telemetry);

}  // namespace ringrt::records
