# SPDX-License-Identifier: BSD-3-Clause
# malleable.yaml: pause: never pauses no job and releases those that are paused, pause: all pauses each malleable job,
# and pause_longest_s limits a pause. Each is read while jobs are paused.
# seconds: 400
. "$here/pause.sh"
yaml_with() { set_yaml "$(cat "$work/malleable.yaml")
$1"; }
start_training options -- 100000 100
pause_for 600
yaml_with 'pause: never'
# It has a place in Slurm's order again. The short job may not be paused and keeps its GPUs.
is_ordinary() { is_state "$job" PENDING && ! intent_is "$job" paused; }
wait_for 40 "the end of its pause" is_ordinary # from 24.11 on a reload restarts slurmctld: 20 s later
is_state "$short" RUNNING || fail "the short job is $(state_of "$short")"
timeout 10 scancel "$short"
resumes "with pause: never"
submit_short 2
sleep 6
is_state "$job" RUNNING && is_state "$short" PENDING || fail "paused with pause: never"
yaml_with 'pause: asked'
wait_for 60 "start of the short job" is_state "$short" "RUNNING COMPLETED"
resumes "with pause: asked"
check_steps

# A reload that changes nothing of it leaves the pause.
pause_for 600
yaml_with 'payback: 1.5'
sleep 3
is_paused "$job" || fail "a reload ended the pause: $(state_of "$job")"
timeout 10 scancel "$short"
resumes "after a reload"
check_steps
clear_jobs

# ---- pause: all, for a job that did not ask ----------------------------------------------------------
yaml_with 'pause: all'
start_job all --malleable=4:16 -- 100000 100
wait_for 40 "start with 16 GPUs" runs_with "$job" 16
wait_for 20 "steps" has_steps 5
pause_for 2
resumes "with pause: all"
check_steps
clear_jobs

# ---- the longest pause: younger jobs are submitted all the time, and the training comes first ---------
yaml_with 'pause_longest_s: 6'
start_training longest -- 100000 100
shorts=()
submit_short 5; shorts+=("$short")
wait_for 60 "pause" is_paused "$job"
for _ in 1 2; do submit_short 5; shorts+=("$short"); done
wait_for 120 "second start, before all shorter jobs ended" has_starts 2
is_state "${shorts[2]}" PENDING || fail "it starved until the last short job was $(state_of "${shorts[2]}")"
for short in "${shorts[@]}"; do wait_for 150 "end of short job $short" is_state "$short" COMPLETED; done
resumes "after all of them"
check_steps
