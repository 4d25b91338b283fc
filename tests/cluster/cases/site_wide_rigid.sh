# SPDX-License-Identifier: BSD-3-Clause
# Ordinary users' jobs have grown on two nodes, each with its MIN on another one, and a rigid job of a third
# user wants both nodes whole. The jobs move to the third node and lose no step. All settings of their users
# are as before, and the excluded nodes that were lent are gone when the jobs have been pending again. If one
# node of the plan is still in use, the other one is cleared meanwhile, and no later job starts there first.
. "$here/site.sh"
site_up
users=(alice bob) jobs=() directories=()
excluded() { field "$1" ExcNodeList; }
sizes() { local i; for i in "${jobs[@]}"; do is_state "$i" RUNNING && gpus_of "$i"; done | paste -sd,; }
have() { [ "$(sizes)" = "$1" ]; }
node_of() { timeout 10 squeue -h -j "$1" -o %N; }
settings() { # all that a user can have set, and a resize could have changed
    timeout 10 scontrol -o show job "$1" | tr ' ' '\n' |
        grep -E '^(UserId|GroupId|Nice|Account|QOS|Partition|ReqNodeList|ExcNodeList|Features|MailType|MailUser|Licenses|Dependency|Reservation|Comment|CPUs/Task|Requeue)='
}
# What was lent is taken back in the pass after the start.
same_settings() { # JOB FILE
    has_settings() { settings "$1" | cmp -s "$2"; }
    wait_for 20 "settings of job $1 as before" has_settings "$1" "$2"
}
for user in "${users[@]}"; do
    user_job "$user" trained --malleable=1:4 --nice=5 --time=30 --mail-type=END --comment="$user" -- 100000 100
    jobs+=("$job") directories+=("$directory")
done
wait_for 60 "four GPUs of each" have 4,4
for directory in "${directories[@]}"; do wait_for 20 "steps" has_steps 5; done
for i in 0 1; do settings "${jobs[$i]}" >"$work/settings$i"; done
grep -q 'ExcNodeList=(null)' "$work/settings0" || fail "excluded from the start: $(excluded "${jobs[0]}")"

began=$SECONDS
wide=$(user_rigid dave 60 --gpus=8 --nodes=2 --ntasks=2 --time=2)
wait_for 60 "start of dave's job of two nodes" is_state "$wide" RUNNING
note "measured: it started $((SECONDS - began)) s after it was submitted"
wait_for 30 "a GPU of each on n3" have 1,1
for job in "${jobs[@]}"; do [ "$(node_of "$job")" = n3 ] || fail "job $job is on $(node_of "$job")"; done
as dave scancel "$wide"
wait_for 90 "four GPUs of each again" have 4,4
for i in 0 1; do same_settings "${jobs[$i]}" "$work/settings$i"; done
for directory in "${directories[@]}"; do check_steps; done

# carol's job holds one node for some more seconds. alice's job leaves the other one meanwhile. bob's job comes
# last in the queue and would fit there at once.
as bob scancel "${jobs[1]}"
jobs=("${jobs[0]}") directory=${directories[0]} job=${jobs[0]}
held=$(user_rigid carol 18 --gpus=4 --nodes=1 --time=1)
wait_for 60 "start of carol's job of a node" is_state "$held" RUNNING
wait_for 60 "four GPUs of alice's job" have 4
wide=$(user_rigid dave 6 --gpus=8 --nodes=2 --ntasks=2 --time=2)
left() { is_state "$job" RUNNING && [ "$(node_of "$job")" = n3 ]; }
wait_for 30 "alice's job on n3" left
is_state "$wide" PENDING || fail "dave's job runs already"
kept_off=$(excluded "$job")
[ "$kept_off" != "(null)" ] || fail "no nodes are excluded while a plan waits"
last=$(user_rigid bob 1 --gpus=4 --nodes=1 --time=30 --nice=100000)
wide_runs() {
    ! is_state "$last" "RUNNING COMPLETING COMPLETED" || is_state "$wide" RUNNING || fail "bob's job started before dave's"
    is_state "$wide" RUNNING
}
wait_for 60 "start of dave's job" wide_runs
is_state "$last" PENDING || fail "bob's job is $(state_of "$last")"
is_state "$job" RUNNING || fail "alice's job is $(state_of "$job")"
wait_for 60 "end of bob's job" is_state "$last" "COMPLETING COMPLETED"
wait_for 90 "four GPUs of alice's job" have 4
same_settings "$job" "$work/settings0"
check_steps
