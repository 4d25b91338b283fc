# SPDX-License-Identifier: BSD-3-Clause
# A resize lends the job a place in the queue for its one restart. A user must not gain another one from it,
# and the user's own nice value is restored.
user=nobody
nice_of() { timeout 10 scontrol -o show job "$1" | sed -n 's/.* Nice=\(-\?[0-9]*\) .*/\1/p'; }
nice_is() { [ "$(nice_of "$1")" = "$2" ]; }

blocker=$(rigid 12 15 -N3)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
start_job asked --malleable=1:8 --nice=700 -- 900 100
wait_for 40 "resize" has_event "$job" resized
wait_for 5 "own nice value, while it runs" nice_is "$job" 700
is_state "$job" RUNNING || fail "the job does not run"

# Its user requeues it: whatever happens first, it waits with its own nice value.
as_user scontrol requeue "$job"
wait_for 20 "requeue" is_state "$job" PENDING
nice_is "$job" 700 || fail "requeued with nice $(nice_of "$job")"
wait_for 60 "run after its user's requeue" is_state "$job" RUNNING
sleep 2
nice_is "$job" 700 || fail "runs with nice $(nice_of "$job")"
