// SPDX-License-Identifier: BSD-3-Clause
// Temporary changes to a job's own settings during a resize by requeue. The resize lends a nice
// value and a list of excluded nodes (waiting.cpp), and suppresses the mails about each run. Only
// the list can outlive the resize, on a running job: it has no effect there, and Slurm does not
// change it (lent_exclusions.h).
#pragma once

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

// What to set with `intent`, which records it. Without this, a user with --mail-type=ALL gets two
// mails for each resize.
[[nodiscard]] Settings suppress_mails(const JobRecord &record, records::Intent &intent);

// What to set with `intent` to restore the job's own settings. Mails that its user requested
// meanwhile stay.
[[nodiscard]] Settings restore_settings(const JobRecord &record, records::Intent &intent);

}  // namespace ringrt::controller
