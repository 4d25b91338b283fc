// SPDX-License-Identifier: BSD-3-Clause
// The gradients of the networks in papers, from their architecture. Sizes are exact. Times are
// proportional to each layer's operations, at the speed of the GPU for which the authors of Prophet
// give times.
#pragma once

#include <string_view>
#include <vector>

#include "libringrt/bucketing/profile.h"

namespace ringrt::ringplan {

struct Model {
    std::string_view name;
    bucketing::Profile (*profile)(int batch);  // `batch`: of one rank
};

// ResNet-18, -50 and -152 as in MXNet (version 2, 224 x 224), and VGG-19.
[[nodiscard]] const std::vector<Model> &models();

// ResNet-50 with its gradients ready in the 12 steps of the table in the authors' code (batch 64).
[[nodiscard]] bucketing::Profile stepwise_resnet50(int batch);

// Times proportional to the batch.
[[nodiscard]] bucketing::Profile scaled(bucketing::Profile profile, double factor);

}  // namespace ringrt::ringplan
