# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of slurmctld in each state of a pause. Slurm saves its state every few seconds, so the last update can be
# lost. The pause completes or is called off. Afterwards the training has all GPUs again, and no step is lost.
# seconds: 900
. "$here/pause.sh"
crash() {
    kill_slurmctld
    sleep 1
    start_slurmctld
    injected 1
}
begin() { # WHEN [MANNER]: $job has 16 GPUs and is in Slurm's saved state, as is $short
    resume_nodes
    start_training "killed-$1" --malleable-grace=0:05 -- 100000 100 "${2:-save}"
    submit_short 12 --begin=now+7
    sleep 6.5
}
short_ends() {
    resume_nodes
    is_state "$short" COMPLETED
}
ends_well() { # WHEN [check_runs]
    wait_for 120 "end of the short job after a crash $1" short_ends
    resumes "after a crash $1"
    "${2:-check_steps}"
    clear_jobs
}
# It is never paused, so that the short job never starts.
begin asked ignore
wait_for 30 "request" intent_is "$job" asked
crash
wait_for 60 "run after a crash while it is asked" is_state "$job" RUNNING
sleep 6
is_state "$job" RUNNING && has_starts 1 || fail "a job that ignores the signal was stopped"
timeout 10 scancel "$short"
check_steps
clear_jobs

begin leaves
wait_for 30 "save" has_line '^save'
crash
ends_well "while it leaves"

begin gap
wait_for_gap
crash
ends_well "while it waits to be paused"

begin paused
wait_for 40 "pause" is_paused "$job"
crash
ends_well "just after its pause"

begin rests
wait_for 40 "pause" is_paused "$job"
wait_for 40 "start of the short job" is_state "$short" RUNNING
sleep 5.5 # that is in the saved state
crash
is_paused "$job" || fail "the pause was lost: $(state_of "$job")"
ends_well "while it is paused"

begin resumed
wait_for 60 "second start" has_starts 2
crash
ends_well "just after its return" check_runs
