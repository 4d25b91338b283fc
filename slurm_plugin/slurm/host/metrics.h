// SPDX-License-Identifier: GPL-2.0-or-later
// The same account as diag.h for monitoring. A pure function of the account: ringrtd serves the
// text over HTTP, and where malleable.yaml names a metrics_file it is written there.
#pragma once

#include <string>

#include "slurm_plugin/slurm/host/diag.h"

namespace ringrt::slurm {

enum class Exposition : uint8_t {
    openmetrics,  // OpenMetrics 1.0
    prometheus,   // the older text format 0.0.4, all that node_exporter's textfile collector reads
};

inline constexpr std::string_view kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

[[nodiscard]] std::string to_metrics(const Diag &diag, Exposition exposition);

}  // namespace ringrt::slurm
