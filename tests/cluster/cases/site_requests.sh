# SPDX-License-Identifier: BSD-3-Clause
# What a job or its partition requests for each GPU or of the nodes: defaults of the partition (DefCpuPerGPU,
# DefMemPerGPU), several partitions, --switches, a reservation. The job starts, grows to all that it may use,
# and shrinks for a rigid job; in a reservation it keeps its size.
# seconds: 900
. "$here/site.sh"
site_up
try() { # NAME FEWER MORE RIGID_OPTIONS -- SBATCH_OPTIONS...: it runs with FEWER beside the rigid job, alone with MORE
    local name=$1 fewer=$2 more=$3 guest guest_options=()
    shift 3
    while [ "$1" != -- ]; do guest_options+=("$1") && shift; done
    shift
    guest=$(user_rigid carol 900 "${guest_options[@]}")
    wait_for 30 "start of the rigid job" is_state "$guest" RUNNING
    user_job alice "$name" --malleable=1:8 "$@" -- 100000 100
    wait_for 60 "$name: run with $fewer" runs_with "$job" "$fewer"
    as carol scancel "$guest"
    wait_for 90 "$name: run with $more" runs_with "$job" "$more"
    guest=$(user_rigid carol 900 "${guest_options[@]}")
    wait_for 60 "$name: start of a rigid job" is_state "$guest" RUNNING
    wait_for 60 "$name: run with $fewer again" runs_with "$job" "$fewer"
    [ "$name" != defaults ] || [ "$(timeout 5 squeue -h -j "$job" -o %C)" = $((2 * fewer)) ] || fail "it has not two CPUs per GPU"
    note "$name: $(timeout 5 squeue -h -j "$job" -o '%C CPUs, %m, on %N')"
    check_steps
    as alice scancel "$job"
    wait_for 60 "end of all jobs" cancel_jobs
}
scontrol update partitionname=main JobDefaults=DefCpuPerGPU=2,DefMemPerGPU=100 || fail "no defaults"
try defaults 4 8 --gpus=4 -N1 -w n2 -- --exclude=n3
scontrol update partitionname=main JobDefaults=
try partitions 4 8 --gpus=a100:4 -N1 -w n2 -- -p large,main --exclude=n3,n4
try switches 4 8 --gpus=4 -N1 -w n2 -- --switches=1 --exclude=n3
scontrol create reservation=mine starttime=now duration=60 nodes=n1,n2 users=alice,carol >/dev/null || fail "no reservation"

# Its nodes are reserved: it could not return to them, and is left alone.
user_job alice reservation --malleable=1:8 --gpus=8 --reservation=mine -t 30 -- 100000 100
wait_for 60 "start in the reservation" has_line '^start'
size=$(gpus_of "$job")
sleep 8
[ "$(gpus_of "$job")" = "$size" ] && is_state "$job" RUNNING || fail "it is $(state_of "$job") with $(gpus_of "$job") GPUs"
has_event "$job" asked && fail "it was asked to leave"
check_steps
