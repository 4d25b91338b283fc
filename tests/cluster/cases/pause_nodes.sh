# SPDX-License-Identifier: BSD-3-Clause
# The cluster changes while a job is paused: a node is drained, the partition is down, and a job starts on a part of the
# GPUs. It continues with what there is.
# seconds: 400
. "$here/pause.sh"
user=nobody
start_training nodes -- 100000 100
pause_for 600
timeout 10 scontrol update nodename=n4 state=drain reason=test
timeout 10 scancel "$short"
wait_for 60 "8 GPUs on the other nodes" runs_with "$job" 8
timeout 10 scontrol update nodename=n4 state=resume
resumes "with the node"
check_steps

pause_for 600
timeout 10 scontrol update partitionname=main state=down
timeout 10 scancel "$short"
sleep 8
is_state "$job" PENDING || fail "its partition is down, and it is $(state_of "$job")"
timeout 10 scontrol update partitionname=main state=up
resumes "with the partition"
check_steps

pause_for 600
guest=$(user='' rigid 12 600 -N3 --nice=-1000)
timeout 10 scancel "$short"
wait_for 60 "start of the rigid job" is_state "$guest" RUNNING
wait_for 60 "4 GPUs beside it" runs_with "$job" 4
timeout 10 scancel "$guest"
resumes "after the rigid job"
check_steps
# Jobs that depend on it start when it has ended, not when it is paused.
dependent=$(as_user sbatch --parsable -J dependent -o /dev/null --gpus=1 --dependency=afterany:"$job" --wrap true)
pause_for 8
is_state "$dependent" PENDING || fail "a job that depends on it is $(state_of "$dependent")"
resumes "with a job that depends on it"
as_user scancel "$job"
wait_for 30 "end of the job that depends on it" is_state "$dependent" COMPLETED
check_steps
