# SPDX-License-Identifier: BSD-3-Clause
# An administrator's AdminComment stands before the job's record, which stays: the job stays malleable.
# A long one, too: Slurm sets no bound.
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
