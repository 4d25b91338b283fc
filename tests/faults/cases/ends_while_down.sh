# SPDX-License-Identifier: BSD-3-Clause
# A job ends with 0 while slurmctld is down, for longer than slurmstepd retries before it sleeps
# (MessageTimeout, 10 s). A restarted slurmctld records the job as running, and its node has no process of it.
# The job must become COMPLETED and never run again (F21). Tried with a job that was not asked, one that ended
# just before, and one that was asked to resize.
cat >"$work/until.sh" <<'END'
#!/bin/bash
echo "start ${SLURM_RESTART_COUNT:-0}" >>"$1/log.plain"
until [ -e "$1/end" ]; do sleep 0.2; done
exit 0
END
chmod +x "$work/until.sh"
begin() { # NAME
    directory=$work/$1
    mkdir -p "$directory"
    job=$(timeout 20 sbatch --parsable --malleable=1:16 --gpus=16 --malleable-grace=0:05 -o /dev/null "$work/until.sh" "$directory") ||
        fail "sbatch refused $1"
    wait_for 30 "start" is_state "$job" RUNNING
    wait_for 10 "line of the script" test -s "$directory/log.plain"
    sleep 6 # the running job is in the saved state
}
ends_while_down() {
    kill_slurmctld
    touch "$directory/end"
    sleep 13
    start_slurmctld
    wait_for 60 "end of the job that had ended" is_state "$job" COMPLETED
    sleep 6
    is_state "$job" COMPLETED || fail "the job was COMPLETED and is $(state_of "$job")"
    [ "$(wc -l <"$directory/log.plain")" = 1 ] || fail "the job ran again after it had ended with 0"
    clear_jobs
}

begin calm
ends_while_down

# It ended just before the kill, and slurmctld has not saved that: only the event log records it.
begin before
sleep 15 # a job that was just launched is queried later
scontrol update jobid="$job" comment=changed
sleep 1 # slurmctld has saved that, and saves nothing more for five seconds
touch "$directory/end"
wait_for 20 "word of its end" has_event "$job" ended
kill_slurmctld
start_slurmctld
is_state "$job" RUNNING || fail "slurmctld had saved the end of the job: nothing was tried"
wait_for 60 "end of the job that had ended before" is_state "$job" COMPLETED
sleep 15 # by now Slurm alone would have started it again
is_state "$job" COMPLETED || fail "the job was COMPLETED and is $(state_of "$job")"
[ "$(wc -l <"$directory/log.plain")" = 1 ] || fail "the job ran again after it had ended with 0"
clear_jobs

begin asked
guest=$(rigid 8 300 -N2)
wait_for 20 "request" intent_is "$job" asked
ends_while_down
injected 3
