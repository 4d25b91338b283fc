# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of slurmctld in each state of a resize (F21). Slurm saves its state every few seconds, so the last
# update can be lost. The resize completes or is called off, no step is lost, and no job is FAILED.
# seconds: 700
crash() { kill_slurmctld && sleep 1 && start_slurmctld; }
ends_well() { # WHEN GPUS...: the job continues at one of these sizes
    local when=$1
    shift
    wait_for 60 "run after a crash $when" is_state "$job" RUNNING
    sleep 3
    wait_for 60 "run after a crash $when" is_state "$job" RUNNING
    wait_for 60 "steps after a crash $when" has_steps $(($(steps_done) + 10))
    # slurmctld drains a node on which it finds a run that it has lost ("Duplicate jobid") until an
    # administrator resumes it. A job that left then has four GPUs, and the guest eight.
    [[ " $* " != *" 8 "* ]] || [ -z "$(timeout 10 sinfo -h -t drain,draining,drained -o %N)" ] || set -- "$@" 4
    [[ " $* " == *" $(ranks_now) "* ]] || fail "after a crash $when the job has $(ranks_now) ranks"
    # Just after the restart Slurm may have lost that run: its steps are done again.
    if [ "$when" = "just after its return" ]; then check_runs; else check_steps; fi
    clear_jobs
}
# As an administrator does after checking why slurmctld drained them.
resume_nodes() {
    local drained
    drained=$(timeout 10 sinfo -h -t drain,draining,drained -N -o %N | sort -u | paste -sd,)
    [ -z "$drained" ] || { note "drained: $drained" && timeout 10 scontrol update nodename="$drained" state=resume; }
}
begin() { # NAME [MANNER]
    resume_nodes
    start_job "$1" --malleable=1:16 --malleable-grace=0:05 -- 100000 100 "${2:-save}"
    wait_for 30 "start with 16 GPUs" runs_with "$job" 16
    wait_for 20 "steps" has_steps 5
    sleep 6 # the running job is in the saved state
    guest=$(rigid 8 300 -N2)
}

start_job waits --malleable=1:16 --begin=now+14 -- 100000 100
sleep 6 # a job that was never saved is lost with every scheduler
crash
wait_for 60 "start after a crash while it waits" has_line '^start'
ends_well "while it waits" 16

begin asked ignore
wait_for 20 "request" intent_is "$job" asked
crash
ends_well "while it is asked" 16

begin leaves
wait_for 20 "save" has_line '^save'
crash
ends_well "while it leaves" 8 16

begin back
wait_for_gap
crash
ends_well "while it waits to restart" 8 16

begin again
wait_for 30 "second start" bash -c "[ \"\$(grep -c ^start $directory/log)\" = 2 ]"
crash
ends_well "just after its return" 8 16
