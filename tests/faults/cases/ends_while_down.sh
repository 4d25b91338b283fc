# SPDX-License-Identifier: BSD-3-Clause
# A job ends with 0 while slurmctld is down, for longer than slurmstepd keeps trying before it sleeps
# (MessageTimeout, 10 s): slurmctld comes back, believes that the job runs, and its node knows of no
# process. It has ended all the same: it is COMPLETED, and never runs again (F21). A job that nobody had
# asked anything, one that ended just before, and one that was asked to resize.
cat >"$work/until.sh" <<'END'
#!/bin/bash
echo "start ${SLURM_RESTART_COUNT:-0}" >>"$1/log.plain"
until [ -e "$1/end" ]; do sleep 0.2; done
exit 0
END
chmod +x "$work/until.sh"
begin() { # NAME
    folder=$work/$1
    mkdir -p "$folder"
    job=$(timeout 20 sbatch --parsable --malleable=1:16 --malleable-grace=0:05 -o /dev/null "$work/until.sh" "$folder") ||
        fail "sbatch refused $1"
    wait_for 30 "start" is_state "$job" RUNNING
    wait_for 10 "line of the script" test -s "$folder/log.plain"
    sleep 6 # the running job is in the saved state
}
ends_while_down() {
    kill_slurmctld
    touch "$folder/end"
    sleep 13
    start_slurmctld
    wait_for 60 "end of the job that had ended" is_state "$job" COMPLETED
    sleep 6
    is_state "$job" COMPLETED || fail "the job was COMPLETED and is $(state_of "$job")"
    [ "$(wc -l <"$folder/log.plain")" = 1 ] || fail "the job ran again after it had ended with 0"
    clear_jobs
}

begin calm
ends_while_down

# It ended a moment before, and slurmctld, killed, has not saved that: only the event log knows.
begin before
sleep 15 # a job that was just launched is asked for later
scontrol update jobid="$job" comment=changed
sleep 1 # slurmctld has saved that, and saves nothing more for five seconds
touch "$folder/end"
wait_for 20 "word of its end" has_event "$job" ended
kill_slurmctld
start_slurmctld
is_state "$job" RUNNING || fail "slurmctld had saved the end of the job: nothing was tried"
wait_for 60 "end of the job that had ended before" is_state "$job" COMPLETED
sleep 15 # Slurm itself would have it run again by now
is_state "$job" COMPLETED || fail "the job was COMPLETED and is $(state_of "$job")"
[ "$(wc -l <"$folder/log.plain")" = 1 ] || fail "the job ran again after it had ended with 0"
clear_jobs

begin asked
guest=$(rigid 8 300 -N2)
wait_for 20 "request" intent_is "$job" asked
ends_while_down
injected 3
