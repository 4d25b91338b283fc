// SPDX-License-Identifier: BSD-3-Clause
// The gradients of networks that papers train, from their architecture: sizes are exact, times are
// in proportion to the operations of each layer, at the speed of one GPU for which the authors of
// Prophet give times.
#pragma once

#include <string_view>
#include <vector>

#include "libringrt/bucketing/profile.h"

namespace ringrt::ringplan {

struct Model {
    std::string_view name;
    bucketing::Profile (*profile)(int batch);  // of the batch of one rank
};

// ResNet-18, -50 and -152 as MXNet builds them (version 2, 224 x 224), and VGG-19.
[[nodiscard]] const std::vector<Model> &models();

// ResNet-50 with its gradients ready in the 12 steps of the table in the authors' code (batch 64).
[[nodiscard]] bucketing::Profile stepwise_resnet50(int batch);

// Times in proportion to the batch.
[[nodiscard]] bucketing::Profile scaled(bucketing::Profile profile, double factor);

}  // namespace ringrt::ringplan
