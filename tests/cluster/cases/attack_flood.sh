# SPDX-License-Identifier: BSD-3-Clause
# One user submits 600 malleable jobs in a row and cancels them again. Slurm answers meanwhile, another user's
# job at its MIN is not touched, and the controller then serves the next job.
. "$here/site.sh"
submit_many=$(dirname "$plugins")/tests/faults/submit_many
[ -x "$submit_many" ] || skip "submit_many is not built (make tests/faults/submit_many)"
site_up
user_job bob bystander --malleable=2:2 --exclude=n[1-2] -- 100000 100
bystander=$job its=$directory
wait_for 60 "two GPUs of bob's job" runs_with "$job" 2
as alice "$submit_many" 600 "sleep 600" malleable=1:4 >"$work/flood" || fail "the flood: $(cat "$work/flood")"
note "measured: $(cat "$work/flood")"
for _ in $(seq 20); do answers || fail "squeue got no answer within 5 s"; sleep 0.5; done
is_state "$bystander" RUNNING && [ "$(grep -c '^start' "$its/log")" = 1 ] || fail "bob's job was touched"
as alice scancel --me
has_none() { [ -z "$(as alice squeue -h --me)" ]; }
wait_for 120 "end of alice's jobs" has_none
user_job carol next --malleable=1:4 --exclude=n3 -- 100000 100
wait_for 60 "four GPUs of carol's job" runs_with "$job" 4
check_steps
directory=$its
check_steps
