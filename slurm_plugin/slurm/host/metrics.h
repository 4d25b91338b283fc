// SPDX-License-Identifier: GPL-2.0-or-later
// The report of diag.h, for monitoring. A pure function: ringrtd serves the text over HTTP, and if
// malleable.yaml names a metrics_file, the text is written there.
#pragma once

#include <string>

#include "slurm_plugin/slurm/host/diag.h"

namespace ringrt::slurm {

enum class Exposition : uint8_t {
    openmetrics,  // OpenMetrics 1.0
    prometheus,   // the older text format 0.0.4, the only one that node_exporter's textfile
                  // collector reads
};

inline constexpr std::string_view kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

[[nodiscard]] std::string to_metrics(const Diag &diag, Exposition exposition);

}  // namespace ringrt::slurm
