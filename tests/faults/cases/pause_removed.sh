# SPDX-License-Identifier: BSD-3-Clause
# The controller goes away for good while a job is paused. When the job's start time has passed, Slurm starts it with
# MIN, as any pending job. Nobody waits ten minutes here: a preloaded library puts the clock of Slurm's daemons forward
# (tests/faults/set_clock.cpp). The other time an administrator sets the start time.
# seconds: 400
. "$here/pause.sh"
. "$here/clock.sh"
daemons=(slurmctld n1 n2 n3 n4) # the controller goes away: ringrtd is not among them
cp "$dir/slurm.conf" "$work/slurm.conf.before"
put_back() {
    (clear_jobs)
    cp "$work/slurm.conf.before" "$dir/slurm.conf"
    restart "" "${daemons[@]}"
}
trap put_back EXIT
remove_controller() {
    [ "$host" = plugin ] || kill_controller
    sed -i 's/^SchedulerType=.*/SchedulerType=sched\/backfill/; /^JobSubmitPlugins/d' "$dir/slurm.conf"
    "$cluster" daemon "$dir" term slurmctld
    LD_PRELOAD=$clock "$cluster" daemon "$dir" start slurmctld
    wait_for 30 "answer from slurmctld" answers
}
return_controller() {
    cp "$work/slurm.conf.before" "$dir/slurm.conf"
    "$cluster" daemon "$dir" term slurmctld
    LD_PRELOAD=$clock "$cluster" daemon "$dir" start slurmctld
    [ "$host" = plugin ] || start_controller
    wait_for 30 "answer from slurmctld" answers
}
restart "$clock" "${daemons[@]}"

user=nobody
start_training removed -- 100000 100
pause_for 600
remove_controller
timeout 10 scancel "$short"
sleep 8
is_state "$job" PENDING || fail "before its start time it is $(state_of "$job")"
echo $((lease_s + 5)) >"$RINGRT_CLOCK"
wait_for 120 "start without a controller" runs_with "$job" 4
wait_for 30 "steps" has_steps $(($(steps_done) + 5))
injected 1
# The controller is installed again: it takes the job as it is.
return_controller
resumes "with the controller"
check_steps

pause_for 600
remove_controller
timeout 10 scancel "$short"
timeout 10 scontrol update jobid="$job" starttime=now || fail "no start time"
wait_for 60 "start by an administrator" runs_with "$job" 4
check_steps
injected 1
