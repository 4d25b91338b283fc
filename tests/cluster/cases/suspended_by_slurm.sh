# SPDX-License-Identifier: BSD-3-Clause
# A site that preempts by suspending (PreemptMode=SUSPEND,GANG). A job of a higher partition needs the CPUs of a
# malleable job just after that was asked for a checkpoint, for longer than its grace time. The resize is called
# off, nothing ends the suspended job, and after it is resumed a rigid job gets its GPUs.
second_cluster --nodes 2 \
    --conf PreemptType=preempt/partition_prio --conf PreemptMode=SUSPEND,GANG \
    --conf "PartitionName=main Nodes=ALL Default=YES DefaultTime=1:00:00 OverSubscribe=FORCE:1 PriorityTier=1" \
    --conf "PartitionName=high Nodes=ALL DefaultTime=1:00:00 OverSubscribe=FORCE:1 PriorityTier=10"

# Its step takes longer than the preemptor needs to start, and the preemptor longer than the grace time.
start_job suspended --malleable=1:8 --malleable-grace=0:08 -- 100000 6000
wait_for 40 "run with 8" runs_with "$job" 8
guest=$(rigid 4 600 -N1)
wait_for 30 "request" has_event "$job" asked
preemptor=$(timeout 20 sbatch --parsable -J preemptor -o /dev/null -p high -N2 --ntasks=32 --wrap "sleep 12")
wait_for 20 "suspension" is_state "$job" SUSPENDED
wait_for 20 "end of the resize" has_event "$job" called_off
grep -q '"event":"called_off".*the job was suspended' "$dir/log/malleable_events.jsonl" || fail "it was called off for another reason"
is_state "$job" SUSPENDED && is_state "$preemptor" RUNNING || fail "it is $(state_of "$job"), the preemptor $(state_of "$preemptor")"
wait_for 60 "end of the preemptor" is_state "$preemptor" COMPLETED
wait_for 90 "start of the rigid job" is_state "$guest" RUNNING
wait_for 60 "run with 4" runs_with "$job" 4
check_steps
