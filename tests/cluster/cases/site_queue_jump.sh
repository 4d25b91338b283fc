# SPDX-License-Identifier: BSD-3-Clause
# The place in the queue that a resize lends a job must not help its user to pass other jobs. The user
# requeues the job, or in the gap of its resize holds it or changes its node list: it waits with its own nice
# value.
. "$here/site.sh"
site_up
nice() { field "$1" Nice; }
leaves() { is_state "$job" PENDING; }
watch_nice() { # WHAT SECONDS: the job has no lent place
    local end=$((SECONDS + $2)) seen
    while [ $SECONDS -lt $end ]; do
        seen=$(nice "$job")
        [ "$seen" = 100 ] || fail "$1: nice $seen"
        sleep 0.1
    done
}

# alice's job has borrowed one GPU of n3, and carol's has n1 and n2. dave's waits for what alice's borrowed.
prepare() { # NAME
    blocker=$(user_rigid carol 600 --gpus=8 --nodes=2 -w "n[1-2]")
    wait_for 30 "start of carol's job" is_state "$blocker" RUNNING
    user_job alice "$1" --malleable=1:2 --nice=100 -- 100000 100
    wait_for 60 "run with 2" runs_with "$job" 2
    guest=$(user_rigid dave 600 --gpus=1 --nodes=1 -w n3)
}
# The same, and in the gap a job without a GPU takes what is left of n3. The gap lasts until $open has ended.
prepare_gap() { # NAME
    prepare "$1"
    open=$(as carol sbatch --parsable -J open -D / -o /dev/null --ntasks=7 --nodes=1 -w n3 --wrap "sleep 600") || fail "sbatch"
    timeout 10 scontrol update jobid="$guest" nice=-200000
    timeout 10 scontrol update jobid="$open" nice=-100000
    wait_for 60 "gap" leaves
    wait_for 30 "start of the job without a GPU" is_state "$open" RUNNING
}
clear_site() {
    timeout 10 scancel "$@"
    wait_for 60 "end of all jobs" no_jobs
}

prepare requeued
wait_for 60 "resize" has_event "$job" resized
as alice scontrol requeue "$job"
wait_for 20 "requeue" leaves
as alice scontrol update jobid="$job" numtasks=8 starttime=now 2>/dev/null
watch_nice "requeued after its resize" 4
clear_site "$job" "$blocker" "$guest"

prepare_gap held
as alice scontrol hold "$job"
lent_is_back() { [ "$(nice "$job")" = 100 ]; }
wait_for 10 "nice value of its own while it is held" lent_is_back
sleep 2
as alice scontrol release "$job"
timeout 10 scancel "$open"
watch_nice "held in the gap and released" 4
wait_for 60 "run after the hold" is_state "$job" RUNNING
clear_site "$job" "$blocker" "$guest"

# The user restricts the job to busy nodes, so there is time to change it while it waits. A pass that began
# before the change may still lend the place. The next pass logs that and takes it back.
is_told() { has_event "$job" user_override; }
expect_own_nice() { # WHAT
    wait_for 20 "the controller's word" is_told
    wait_for 10 "its own nice value" lent_is_back
    watch_nice "$1" 6
    is_state "$job" PENDING || fail "it is $(state_of "$job")"
    clear_site "$job" "$blocker" "$guest" "$open"
}
prepare_gap pointed
as alice scontrol update jobid="$job" reqnodelist=n1 || fail "the update was refused"
timeout 10 scancel "$open"
expect_own_nice "pointed at other nodes in the gap"

# The same while its old run is still completing, as long as the epilog takes.
prepare completing
echo 3 >"$dir/prolog_seconds"
open=$(as carol sbatch --parsable -J open -D / -o /dev/null --ntasks=7 --nodes=1 -w n3 --wrap "sleep 600") || fail "sbatch"
timeout 10 scontrol update jobid="$guest" nice=-200000
completes() { is_state "$job" COMPLETING; }
wait_for 60 "epilog" completes
as alice scontrol update jobid="$job" reqnodelist=n1 || fail "the update was refused"
expect_own_nice "pointed at other nodes while its old run completes"
