// SPDX-License-Identifier: GPL-2.0-or-later
// Sets up a service process in addition to a step's tasks: it receives Slurm's signals as they do,
// and has the rights of the job's owner.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <vector>

namespace ringrt::slurm {

struct JobOwner {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups;
};

// Call these in a child of slurmstepd, in this order.

// Every other descriptor leads to /dev/null: srun must see the end of its tasks' output, and log
// lines of Slurm's library must not reach a socket with a reused number.
bool keep_only(std::initializer_list<int> fds);
// proctrack/cgroup signals the children of slurmstepd that are in the step's cgroup.
void join_cgroups_of(pid_t task);
// Irreversible. On false, this process must end.
bool become(const JobOwner &owner);

}  // namespace ringrt::slurm
