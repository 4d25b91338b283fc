# SPDX-License-Identifier: BSD-3-Clause
# Tasks of an array are paused and resumed one by one, the last one included, whose number is the array's.
# seconds: 400
. "$here/pause.sh"
user=nobody
start_job tasks --malleable=4:8 --malleable-pause --array=0-2 -- 300 100
array=$job all=$directory
task() { job=${array}_$1 directory=$all/$1; }
for i in 0 1 2; do
    task $i
    wait_for 60 "start of task $i" has_line '^start'
    wait_for 20 "steps of task $i" has_steps 5
done
submit_short 15
paused=''
all_paused() {
    paused=''
    for i in 0 1 2; do ! is_paused "${array}_$i" || paused+=" $i"; done
    [ "$paused" = " 0 1 2" ]
}
wait_for 60 "pause of all tasks" all_paused
wait_for 40 "start of the short job" is_state "$short" RUNNING
# Cancelling one paused task leaves the others paused.
as_user scancel "${array}_1"
sleep 3
is_paused "${array}_0" && is_paused "${array}_2" || fail "a cancelled task ended the pause of the others"
wait_for 60 "end of the short job" is_state "$short" COMPLETED
for i in 0 2; do
    task $i
    wait_for 120 "end of task $i" is_state "$job" COMPLETED
    check_steps
    [ "$(field "$job" Restarts)" -ge 1 ] || fail "task $i was never paused"
    [ "$(grep -c '^start' "$directory/log")" = $(($(field "$job" Restarts) + 1)) ] || fail "task $i was requeued more often than it started"
done
task 1
has_starts 1 && is_state "$job" CANCELLED || fail "the cancelled task is $(state_of "$job")"
clear_jobs

# A task that left would lose its place to the next task of an array that runs one at a time.
start_job single --malleable=4:16 --malleable-pause --array=0-1%1 -- 100000 100
array=$job all=$directory
task 0
wait_for 60 "start of the first task" runs_with "$job" 16
wait_for 20 "steps" has_steps 5
submit_short 5
sleep 6
is_state "$job" RUNNING && is_state "$short" PENDING && has_starts 1 || fail "a task of a full array left its place"
check_steps
