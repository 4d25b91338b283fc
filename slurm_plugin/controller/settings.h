// SPDX-License-Identifier: BSD-3-Clause
// What a resize by requeue changes of a job's own settings for as long as it lasts: it lends a nice
// value and a list of excluded nodes (waiting.cpp), and keeps back the mails about each run.
// Nothing of that outlives the resize but a list on a job that runs: there it has no effect, and
// Slurm does not change it (kept_off.h).
#pragma once

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

// What to set with `intent`, which notes it. Without this, a user with --mail-type=ALL gets two
// mails for each resize.
[[nodiscard]] Settings keep_back_mails(const JobRecord &record, records::Intent &intent);

// What to set with `intent`, so that the job has again what is its own. Mails that its user asked
// for meanwhile stay.
[[nodiscard]] Settings give_back(const JobRecord &record, records::Intent &intent);

}  // namespace ringrt::controller
