// SPDX-License-Identifier: BSD-3-Clause
// `ringplan paper`: the axes of Prophet's evaluation (Zhang et al., ICPP 2021) under the rules that
// it compares, with its parameter servers and on a ring.
#pragma once

#include <string>
#include <vector>

#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/profile.h"

namespace ringrt::ringplan {

struct PaperRow {
    std::string axis, point;  // "bandwidth", "3 Gb/s"
    bucketing::Network network;
    std::vector<double> iteration_us;  // by paper_rules()
};

struct Paper {
    std::vector<PaperRow> rows;
    std::string utilisation;  // text: compute and link in each tenth of an iteration
};

[[nodiscard]] const std::vector<std::string> &paper_rules();

// `more`: measured profiles to add to the built-in models.
[[nodiscard]] Paper paper(const std::vector<bucketing::Profile> &more);
[[nodiscard]] std::string paper_text(const Paper &paper);
[[nodiscard]] std::string paper_json(const Paper &paper);

}  // namespace ringrt::ringplan
