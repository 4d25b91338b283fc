# SPDX-License-Identifier: BSD-3-Clause
# A rigid job wants a whole node, on each of which runs a task of an array with a limit of its own (%2). While
# another task is pending no task moves, because Slurm would give it the place of the one that leaves. No task
# gives GPUs back in vain. Once the last task has started, a task moves and the rigid job starts.
user=nobody
asked() { grep -c '"event":"asked"' "$dir/log/malleable_events.jsonl"; }
node_of() { timeout 10 squeue -h -j "$1" -o %N; }
blocker=$(rigid 8 600 -N2)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
# Task 0 has most steps behind it: it ends first.
for i in 0 1 2; do mkdir -p "$work/sweep/$i" && chown -R "$user" "$work/sweep"; done
echo 700 >"$work/sweep/0/step"
start_job sweep --malleable=1:4 --array=0-2%2 -- 1000 100
array=$job all=$directory
both_have_a_node() {
    local i
    for i in 0 1; do directory=$all/$i && runs_with "${array}_$i" 4 || return; done
}
wait_for 60 "a node for each of two tasks" both_have_a_node
[ "$(node_of "${array}_0")" != "$(node_of "${array}_1")" ] || fail "both on $(node_of "${array}_0")"
before=$(asked)
wide=$(rigid 4 5 -N1 --time=2)
sleep 6
is_state "$wide" PENDING || fail "the job of a node is $(state_of "$wide")"
[ "$(asked)" = "$before" ] || fail "tasks were asked in vain"
for i in 0 1; do is_state "${array}_$i" RUNNING || fail "task $i is $(state_of "${array}_$i")"; done
is_state "${array}_2" PENDING || fail "task 2 is $(state_of "${array}_2")"

wait_for 60 "end of task 0" is_state "${array}_0" COMPLETED
wait_for 30 "start of task 2" is_state "${array}_2" RUNNING
wait_for 60 "start of the job of a node" is_state "$wide" RUNNING
for i in 1 2; do
    job=${array}_$i directory=$all/$i
    wait_for 20 "run of task $i next to it" is_state "$job" RUNNING
    check_steps
done
