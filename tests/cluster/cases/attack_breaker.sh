# SPDX-License-Identifier: BSD-3-Clause
# One user's jobs fail all their resizes (one second of grace, no answer), as many as trip the breaker. Her
# jobs are not asked for a while. Another user's job still gives back what it borrowed.
. "$here/site.sh"
echo 'breaker_jobs: 3' >>"$work/malleable.yaml"
site_up
user_job bob mine --malleable=1:2 --exclude=n[1-2] -- 100000 100
bobs=$job its=$directory
wait_for 60 "two GPUs of bob's job" runs_with "$bobs" 2
has_two() { [ "$(gpus_of "$1")" = 2 ] && is_state "$1" RUNNING; }
ids=()
for name in a b c d; do
    user_job alice $name --malleable=1:2 --malleable-grace=0:01 --exclude=n3 -- 100000 100 ignore
    ids+=("$job")
done
for id in "${ids[@]}"; do wait_for 60 "two GPUs of alice's job $id" has_two "$id"; done
user_rigid dave 600 --gpus=4 --exclude=n3 >"$work/vain"
for id in "${ids[@]:0:3}"; do wait_for 60 "failed resize of alice's job $id" has_event "$id" called_off; done
waiting=$(user_rigid carol 600 --gpus=1 --exclude=n[1-2])
wait_for 30 "start of carol's job" is_state "$waiting" RUNNING
wait_for 60 "resize of bob's job" has_event "$bobs" resized
is_state "$(cat "$work/vain")" PENDING || fail "alice's jobs gave their GPUs: they were to fail"
directory=$its
check_steps
