# SPDX-License-Identifier: BSD-3-Clause
# The pending tasks of an array get GPUs back all at once: one resize, not one for each task.
user=nobody
start_job lender --malleable=1:16 -- 100000 100
wait_for 60 "run with 16" runs_with "$job" 16
wait_for 20 "ten steps" has_steps 10
array=$(as_user sbatch --parsable -o /dev/null --gpus=1 --array=0-11 --wrap 'sleep 300')
running() { [ "$(timeout 5 squeue -h -j "$array" -t R -o %i | wc -l)" = "$1" ]; }
wait_for 60 "start of all twelve tasks" running 12
wait_for 20 "run with 4" runs_with "$job" 4
shrunk=$(grep -c "\"job\":$job,\"event\":\"asked\".*gave_to_rigid" "$dir/log/malleable_events.jsonl")
[ "$shrunk" = 1 ] || fail "$shrunk resizes for one array"
timeout 10 scancel "$array"
wait_for 60 "run with 16 again" runs_with "$job" 16

# The array's own limit allows two tasks at once: only their GPUs are given back.
array=$(as_user sbatch --parsable -o /dev/null --gpus=1 --array=0-11%2 --wrap 'sleep 300')
wait_for 60 "start of two tasks" running 2
wait_for 20 "run with 8" runs_with "$job" 8
sleep 8
runs_with "$job" 8 || fail "it gave more than two tasks can use"
check_steps
