# SPDX-License-Identifier: BSD-3-Clause
# Injects kill -9 of a node's slurmd, and of a job's slurmstepd. The jobs must continue, or restart from their
# last checkpoint on other nodes (F31).
start_job stays --malleable=1:4 -- 100000 100
wait_for 30 "start" runs_with "$job" 4
node=$(squeue -h -j "$job" -o %N)
"$cluster" daemon "$dir" kill "$node"
before=$(steps_done)
sleep 3
"$cluster" daemon "$dir" start "$node"
wait_for 20 "more steps: jobs live on without slurmd" has_steps $((before + 10))
is_state "$job" RUNNING && [ "$(starts)" = 1 ] || fail "the job was touched"
check_steps
clear_jobs

# Permanently: Slurm marks the node down (SlurmdTimeout) and requeues the job.
start_job moves --malleable=1:8 -- 100000 200 again
wait_for 30 "start" runs_with "$job" 8
wait_for 30 "a checkpoint" has_line '^save'
node=$(squeue -h -j "$job" -o %N | sed 's/.*\[\([0-9]\).*/n\1/')
"$cluster" daemon "$dir" kill "$node"
for pid in $(for p in /proc/[0-9]*; do grep -qx slurmstepd "$p/comm" 2>/dev/null && tr '\0' ' ' <"$p/cmdline" | grep -q "\[$job\." && echo "${p#/proc/}"; done); do
    [ "$(readlink "/proc/$pid/cwd")" = "$dir" ] && kill -KILL "$pid" && killed=1
done
[ "${killed:-0}" = 1 ] || fail "found no slurmstepd of the job"
wait_for 150 "second start" bash -c "[ \"\$(grep -c ^start $directory/log)\" -ge 2 ]"
wait_for 60 "run" is_state "$job" RUNNING
wait_for 30 "steps" has_steps $(($(steps_done) + 5))
check_runs
"$cluster" daemon "$dir" start "$node"
injected 3
