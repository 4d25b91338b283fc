# SPDX-License-Identifier: BSD-3-Clause
# A site that powers idle nodes down (SuspendProgram, ResumeProgram). Nodes are powered up for a job's MIN and for
# rigid jobs, also for one that needs borrowed GPUs as well. No malleable job grows onto a node that is powered down.
. "$here/power.sh"
power_site_up
power_down n1 n2 n3 n4
start_job saving --malleable=1:16 -- 100000 100
wait_for 30 "start on a node that is powered up for it" is_started "$job"
wait_for 60 "growth on this node" runs_with "$job" 4
wait_for 20 "ten steps" has_steps 10
sleep 5
runs_with "$job" 4 || fail "it has $(gpus_of "$job") GPUs"
woken 1 "for its MIN, not for its growth,"

# Three GPUs on each node: those of the job's node are borrowed.
guest=$(rigid 12 300 -N4 --gpus-per-node=3)
wait_for 60 "start of a rigid job on nodes that are powered down and one on which GPUs are returned" starts "$guest"
wait_for 40 "run with its MIN" runs_with "$job" 1
all_boot() { [ "$(times_woken)" = 4 ]; }
wait_for 20 "boot of the three other nodes" all_boot
timeout 10 scancel "$guest"
wait_for 90 "growth onto all nodes, which are up now" runs_with "$job" 16
check_steps
