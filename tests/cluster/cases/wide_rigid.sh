# SPDX-License-Identifier: BSD-3-Clause
# Jobs have grown over all nodes, each with its MIN on another one, and a rigid job wants two whole nodes:
# they make room for it. If one node of its plan is still in use, the other one is cleared meanwhile. The list
# of excluded nodes that is lent to the job that moves is gone when that job is next pending. For a plan that
# is impossible no job moves.
user=nobody
directories=() jobs=()
sizes() { local i out=""; for i in "${jobs[@]}"; do out+=$(is_state "$i" RUNNING && gpus_of "$i"),; done; echo "$out"; }
have() { [ "$(sizes)" = "$1" ]; }
excluded() { timeout 10 scontrol -o show job "$1" | sed -n 's/.* ExcNodeList=\([^ (]\+\).*/\1/p'; }
node_of() { timeout 10 squeue -h -j "$1" -o %N; }
asked() { grep -c '"event":"asked"' "$dir/log/malleable_events.jsonl"; }
wide() { # GPUS NODES SECONDS: prints the job's number
    as_user sbatch --parsable -J wide -o /dev/null --gpus="$1" --nodes="$2" --ntasks="$2" --time=2 --wrap "sleep $3"
}
for i in 1 2 3 4; do
    start_job "wide$i" --malleable=1:4 -- 4000 100
    directories+=("$directory") jobs+=("$job")
done
wait_for 60 "four jobs with four GPUs each" have 4,4,4,4,
for directory in "${directories[@]}"; do wait_for 20 "steps" has_steps 5; done

began=$SECONDS
two=$(wide 8 2 4)
wait_for 60 "start of the job of two nodes" is_state "$two" RUNNING
note "measured: it started $((SECONDS - began)) s after it was submitted"
have_eight() { [[ "$(sizes)" =~ ^[1-4],[1-4],[1-4],[1-4],$ ]] && [ "$(($(sizes | tr , +)0))" = 8 ]; }
wait_for 30 "eight GPUs of the four jobs" have_eight
wait_for 90 "growth over all nodes" have 4,4,4,4,

# All jobs are in its way, and have no other place.
before=$(asked)
never=$(wide 16 4 1)
sleep 6
is_state "$never" PENDING || fail "a job of all nodes runs at the same time as four others"
[ "$(asked)" = "$before" ] || fail "jobs were asked in vain"
scancel "$never" "${jobs[2]}" "${jobs[3]}"

# Two malleable jobs, half a node, and a whole node that a rigid job holds for some more seconds.
jobs=("${jobs[@]:0:2}")
half=$(rigid 2 300 --time=10 --nodes=1)
wait_for 30 "start of the job of half a node" is_state "$half" RUNNING
whole=$(rigid 4 18 --time=1 --nodes=1)
wait_for 30 "start of the job of a node" is_state "$whole" RUNNING
wait_for 30 "four GPUs of each" have 4,4,
two=$(wide 8 2 4)
cleared() { local i; for i in "${jobs[@]}"; do [ -z "$(excluded "$i")" ] || { moved=$i && is_state "$i" RUNNING && return; }; done; return 1; }
wait_for 20 "one job moves" cleared
is_state "$two" PENDING || fail "the job of two nodes runs already"
note "kept off $(excluded "$moved"), on $(node_of "$moved")"
[ "$(node_of "$moved")" = "$(node_of "$half")" ] || fail "it did not go where the other half of a node was free"
wait_for 40 "start of the job of two nodes" is_state "$two" RUNNING
is_state "$moved" RUNNING || fail "the job that moved does not run"
wait_for 60 "growth when it has ended" have 4,4,
[ -z "$(excluded "$moved")" ] || fail "still kept off $(excluded "$moved")"
for directory in "${directories[@]}"; do check_steps; done
