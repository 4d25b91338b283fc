# SPDX-License-Identifier: BSD-3-Clause
# A QOS of 6 GPUs, of which bob has 4. A job of 1 to 8 starts with the 2 that are left, though more are free,
# and is not asked to grow to a size that the limit does not allow. bob's job ends, and it grows to 4. The
# limit is raised, which changes no job, and it grows to 8.
. "$here/site.sh"
site_up
others=$(user_rigid bob 600 -q team --gpus=4 --nodes=1)
wait_for 30 "start of bob's job" is_state "$others" RUNNING
user_job alice train -q team --malleable=1:8 -- 100000 100
wait_for 60 "run with 2" runs_with "$job" 2
sleep 8
runs_with "$job" 2 || fail "it does not run with 2"
has_event "$job" asked && fail "it was asked to leave for a size above the limit"
has_event "$job" downsized && fail "it was released with a size above the limit"
why=$(timeout 10 "$(dirname "$plugins")/ringstat" explain "$job") || fail "explain: $why"
[[ $why == *"no more than 2 GPUs because the limits of its account, user or QOS allow no more"* ]] || fail "explain: $why"
as bob scancel "$others"
wait_for 90 "run with 4 once bob's job has ended" runs_with "$job" 4
sleep 4
runs_with "$job" 4 || fail "it does not run with 4"
limit qos team set GrpTRES=gres/gpu=8
wait_for 90 "run with 8 below the raised limit" runs_with "$job" 8
[ "$(starts)" = 3 ] || fail "it started $(starts) times"
check_steps

# A limit of the partition's QOS: 2 GPUs, of 4 that are free there.
sacctmgr -i add qos largest >>"$work/sacctmgr"
limit qos largest set GrpTRES=gres/gpu=2
wait_for 10 "QOS of the partition" scontrol update partitionname=large qos=largest
sleep 6 # partitions are listed every 5 s
user_job carol below -p large --malleable=1:4 -- 100000 100
wait_for 60 "run with 2 in the partition" runs_with "$job" 2
sleep 6
runs_with "$job" 2 || fail "it does not run with 2 in the partition"
has_event "$job" downsized && fail "it was released with a size above the partition's limit"
has_event "$job" asked && fail "it was asked to leave for a size above the partition's limit"
true
