# SPDX-License-Identifier: BSD-3-Clause
# A malleable job whose MIN needs a node that is powered down and borrowed GPUs as well gets both. If the node never
# boots (ResumeTimeout), Slurm requeues the job: it is not lost, the other job continues, and it starts once the node is
# repaired.
# seconds: 500
. "$here/power.sh"
power_site_up --nodes 2
needs_both() { start_job "$1" --malleable=6:6 -- 100000 100; } # three GPUs on each node
lender_has() { # GPUS SECONDS WHAT
    (job=$lender directory=$work/lender; wait_for "$2" "$3 of the other job" runs_with "$job" "$1") || exit 1
}

power_down n2
start_job lender --malleable=1:4 -- 100000 100
lender=$job
lender_has 4 60 "growth on the node that is up"
wait_for 20 "ten steps" has_steps 10
sleep 3
[ "$(times_woken)" = 0 ] || fail "a growth powered a node up"
needs_both first
wait_for 90 "start with a node that is powered up and GPUs that are returned" runs_with "$job" 6
woken 1 "for its MIN"
lender_has 1 30 "run with its MIN"
wait_for 20 "ten steps" has_steps 10
check_steps
timeout 10 scancel "$job"
wait_for 30 "end of the job" is_state "$job" CANCELLED

# The same with a node that never boots.
power_down n2
lender_has 4 60 "growth on the node that is up"
echo n2 >"$work/broken"
needs_both second
wait_for 90 "start of the node's boot" is_state "$job" CONFIGURING
wait_for 120 "requeue" is_state "$job" PENDING
is_state "$job" PENDING || fail "the job is $(state_of "$job")"
rm "$work/broken"
power_down n2
timeout 10 scontrol update nodename=n2 state=resume # the job has Slurm's start delay of 121 s
wait_for 200 "start once the node is repaired" runs_with "$job" 6
lender_has 1 30 "run with its MIN"
wait_for 20 "ten steps" has_steps 10
check_steps
directory=$work/lender
check_steps
