# SPDX-License-Identifier: BSD-3-Clause
# Rules of sites: minutes of GPU that an account may use (GrpTRESMins, AccountingStorageEnforce=safe), nodes for one
# user at a time (ExclusiveUser), a reservation that attracts jobs (Flags=MAGNETIC), a list of ended runs (JobCompType).
. "$here/site.sh"
touch "$work/ended" && chmod 666 "$work/ended" || fail "no list of ended runs" # slurmctld is not root
site_up --conf AccountingStorageEnforce=associations,limits,qos,safe --conf JobCompType=jobcomp/filetxt --conf "JobCompLoc=$work/ended"
ends_all() { wait_for 60 "end of all jobs" cancel_jobs; }

# 200 minutes are three GPUs for an hour. No size above that is tried, because the job would be pending with it.
limit account physics set GrpTRESMins=gres/gpu=200
sleep 1
user_job alice minutes --malleable=1:8 --time=60 -- 100000 100
wait_for 40 "run with 2" runs_with "$job" 2
sleep 4
runs_with "$job" 2 || fail "it has $(gpus_of "$job") GPUs"
has_event "$job" downsized && fail "a size was tried for which no minutes are left"
limit account physics set GrpTRESMins=gres/gpu=-1
wait_for 60 "growth without the limit" runs_with "$job" 8
check_steps

# Its two nodes are alice's. Another user's job gets a whole one back.
timeout 10 scontrol update partitionname=main ExclusiveUser=YES || fail "no ExclusiveUser"
as alice scancel "$job"
ends_all
# From 24.11 on, billing adds a row for each new size.
states=$(sed -n "s/^JobId=$job .* JobState=\([A-Z]*\) .*/\1/p" "$work/ended" | grep -v RESIZING | xargs)
[ "$states" = "PENDING CANCELLED" ] || fail "runs in the list: $(cat "$work/ended")"
guest=$(user_rigid carol 600 --gpus=1 -w n3)
user_job alice exclusive --malleable=1:8 -- 100000 100
wait_for 40 "run with 8" runs_with "$job" 8
for user in bob alice; do
    guest=$(user_rigid $user 600 --gpus=1)
    wait_for 40 "start of a rigid job of $user" is_state "$guest" RUNNING
done
check_steps
ends_all
timeout 10 scontrol update partitionname=main ExclusiveUser=NO

# A job is attracted without naming the reservation, and keeps its size there: its nodes are reserved.
timeout 10 scontrol create reservation=magnet starttime=now duration=60 nodes=n1 users=alice flags=magnetic >/dev/null || fail "no reservation"
sleep 6 # the controller lists the nodes anew
user_job alice attracted --malleable=1:8 --time=30 -- 100000 100
wait_for 40 "start" has_line '^start'
size=$(gpus_of "$job")
[ "$(timeout 5 squeue -h -j "$job" -o %N)" = n1 ] || fail "it was not attracted"
guest=$(user_rigid bob 600 --gpus=4 -N1 -w n2)
wait_for 20 "start of a job beside the reservation" is_state "$guest" RUNNING
sleep 4
runs_with "$job" "$size" || fail "it is $(state_of "$job") with $(gpus_of "$job") GPUs instead of $size"
[ "$(starts)" = 1 ] || fail "it was resized"
check_steps
