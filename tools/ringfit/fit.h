// SPDX-License-Identifier: BSD-3-Clause
// Fits models to samples.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/loss.h"
#include "model/speed.h"
#include "sim/workload/csv.h"

namespace ringrt::fit {

struct Samples {
    std::vector<model::SpeedSample> speed;
    std::vector<model::LossSample> loss;
};

struct Fit {
    std::optional<model::SpeedModel> speed;
    int sizes_measured = 0;
    int fastest = 0;    // power of two with the shortest step
    int efficient = 0;  // largest power of two whose speed-up is at least half its GPUs
    std::optional<model::LossModel> loss;
    double window = 0, steps_left = 0;
};

// Both throw sim::InputError: file, line and the expected form; or that nothing was measured.
[[nodiscard]] Samples from_csv(sim::TextFile file);
[[nodiscard]] Samples from_telemetry(const std::string &text, const std::string &where);

[[nodiscard]] Fit fit_all(const Samples &samples, int gpus_max, double window, double threshold);
[[nodiscard]] std::string to_json(const Samples &samples, const Fit &fit);
[[nodiscard]] std::string to_svg(const Samples &samples, const Fit &fit, int gpus_max);

}  // namespace ringrt::fit
