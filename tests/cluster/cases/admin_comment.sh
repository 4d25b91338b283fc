# SPDX-License-Identifier: BSD-3-Clause
# An administrator's AdminComment is kept before the job's record. The record stays, and the job stays
# malleable. So with a long text: Slurm sets no bound.
user=nobody
text="ticket 17 $(printf 'x%.0s' {1..6000}) end"
comment_of() { timeout 10 scontrol -o show job "$1" | sed -n 's/.* AdminComment=\(.*\) malleable\/1 .*/\1/p'; }
start_job commented --malleable=1:16 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
wait_for 10 "note of the start" intent_is "$job" running
timeout 10 scontrol update jobid="$job" admincomment="$text" || fail "Slurm refused the comment"
[ "$(comment_of "$job")" = "$text" ] || fail "$(timeout 10 scontrol -o show job "$job" | grep -o 'AdminComment=.*')"
guest=$(rigid 8 300 -N2)
wait_for 40 "shrink" runs_with "$job" 8
[ "$(comment_of "$job")" = "$text" ] || fail "the comment did not outlive a resize"
has_event "$job" ended && fail "a job that runs is said to have ended"
check_steps
clear_jobs

# Each task is updated separately: one text for all would copy one task's record into all.
start_job tasks --malleable=1:2 --array=0-2 -- 100000 100
array=$job
all_run() { [ "$(timeout 10 squeue -h -t R -j "$array" | wc -l)" = 3 ]; }
wait_for 30 "start of three tasks" all_run
for task in 0 1 2; do wait_for 10 "note of the start" intent_is "${array}_$task" running; done
timeout 10 scontrol update jobid="$array" admincomment=all 2>"$work/said" && fail "a comment for a whole array was taken"
for task in 0 1 2; do
    timeout 10 scontrol update jobid="${array}_$task" admincomment="ticket $task" || fail "Slurm refused the comment of task $task"
    [ "$(comment_of "${array}_$task")" = "ticket $task" ] || fail "task $task: $(timeout 10 scontrol -o show job "${array}_$task" | grep -o 'AdminComment=.*')"
    wait_for 10 "the record of task $task" intent_is "${array}_$task" running
done
