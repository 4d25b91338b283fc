# SPDX-License-Identifier: BSD-3-Clause
# Each task of a malleable array is resized separately, including the last one, whose number is the array's.
user=nobody
start_job sweep --malleable=1:8 --array=0-2 -- 200 100
array=$job all=$directory
task() { job=${array}_$1 directory=$all/$1; }
requeues() { timeout 10 scontrol -o show job "$job" | sed -n 's/.* Restarts=\([0-9]*\) .*/\1/p'; }
resizes() { grep -c "\"event\":\"requeued\".*\"array_task\":\"$job\"" "$dir/log/malleable_events.jsonl"; }
numbers() { timeout 10 squeue -h -o %A | sort -u | wc -l; }
have_numbers() { [ "$(numbers)" = "$1" ]; }

wait_for 30 "a number for each task" have_numbers 3
for i in 0 1 2; do
    task $i
    wait_for 60 "start of task $i with 4" has_line '^start .*ranks=4 ' # one of them may have grown since
done
guest=$(rigid 8 300 -N2)
wait_for 60 "start of the rigid job" is_state "$guest" RUNNING
timeout 10 scancel "$guest"
count=0
for i in 0 1 2; do
    task $i
    wait_for 90 "end of task $i" is_state "$job" COMPLETED
    check_steps
    # A task is requeued once per own resize, never together with another task.
    [ "$(requeues)" = "$(resizes)" ] || fail "task $i was requeued $(requeues) times for $(resizes) resizes"
    count=$((count + $(resizes)))
done
[ $count -gt 0 ] || fail "no task was resized for the rigid job"
clear_jobs

# The array's own limit allows two tasks at once. A task that left to grow would lose its place to the next
# task, so none resizes until no task is pending.
guest=$(rigid 12 300 -N3)
wait_for 60 "start of the rigid job" is_state "$guest" RUNNING
start_job throttled --malleable=1:8 --array=0-3%2 -- 120 100
array=$job all=$directory
task 1
wait_for 30 "run with 2" runs_with "$job" 2
timeout 10 scancel "$guest"
wait_for 20 "its reason" bash -c "timeout 10 '$(dirname "$plugins")/ringstat' explain $job | grep -q 'another task of its array'"
for i in 0 1 2 3; do
    task $i
    wait_for 90 "end of task $i" is_state "$job" COMPLETED
    check_steps
    [ $i -gt 1 ] || [ "$(resizes)" = 0 ] || fail "task $i of a full array left its place"
done
