# SPDX-License-Identifier: BSD-3-Clause
# A node fails under a running job: the job restarts from its last checkpoint without help (F31).
start_job lost --malleable=1:8 -- 100000 100
wait_for 30 "start" runs_with "$job" 8
node=$(squeue -h -j "$job" -o %N | sed 's/.*\[\([0-9]\).*/n\1/')
timeout 10 scontrol update nodename="$node" state=down reason="test of a lost node"
wait_for 60 "second start" bash -c "[ \"\$(grep -c ^start $directory/log)\" = 2 ]"
squeue -h -j "$job" -o %N | grep -q "$node" && fail "runs on the lost node"
timeout 10 scontrol update nodename="$node" state=resume
is_state "$job" RUNNING || fail "the job is $(state_of "$job")"
