// SPDX-License-Identifier: BSD-3-Clause
// Equal shares: every job gets the same number of GPUs, as far as its ladder goes; newcomers wait
// while there are fewer than `equal_share_least` for each.
#include <algorithm>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {
namespace {

enum { kLeast };  // places in Options::own
constexpr Param kParams[] = {
    {"equal_share_least", 1, 65536, 1, "GPUs that each job gets at least where a newcomer starts"},
};

std::vector<Allotment> decide(std::span<const Job> jobs, const Capacity &capacity,
                              const Options &options) {
    std::vector<Allotment> out;
    int left = total_gpus(capacity);
    for (const Job &job : jobs) left -= job.gpus_now;
    const int share = total_gpus(capacity) / std::max<int>(1, static_cast<int>(jobs.size()));
    for (const Job &job : jobs) {
        const bool may_start = share >= options.own[kLeast];
        int gpus =
            job.gpus_now > 0 || may_start ? std::max(job.gpus_min, job.ladder().floor(share)) : 0;
        if (job.keeps_its_size() || gpus > job.gpus_now + left) gpus = job.gpus_now;
        left -= gpus - job.gpus_now;
        out.push_back({job.id, gpus, gpus > 0 ? Reason::best_gain : Reason::waits});
    }
    return out;
}

constexpr Policy kPolicies[] = {{"equal-share", decide, "the same for every job", kParams}};

}  // namespace

extern const PolicyList equal_share_policies;  // for policies.mk
const PolicyList equal_share_policies{kPolicies};

}  // namespace ringrt::policy
