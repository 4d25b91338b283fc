// SPDX-License-Identifier: BSD-3-Clause
// From what is observed to what each malleable job shall have: the policy's sizes, why, and whether
// the GPUs for them are free now. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/job_view.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::controller {

struct Wish {
    policy::Job job;  // as the policy saw it; id 0: the policy did not see it
    policy::Allotment allotment;
    std::string_view why_pinned;  // why it is left alone; empty: it is not
    int pool = -1;
    int fitting = 0;              // the largest size up to the wish whose GPUs are free now
    bool may_lose_place = false;  // another job would take its GPUs while it is away
};

struct Decision {
    std::vector<Pool> pools;
    std::vector<Wish> wishes;  // one per job, in the order of the views
};

[[nodiscard]] Decision decide(const Observation &observation, const std::vector<JobView> &jobs,
                              const std::map<uint32_t, JobMemory> &memory, const Options &options);

[[nodiscard]] policy::Options policy_options(const Options &options);

}  // namespace ringrt::controller
