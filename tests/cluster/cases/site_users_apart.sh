# SPDX-License-Identifier: BSD-3-Clause
# One user's jobs never answer, as many as may be resized at once. They do not block other users' resizes:
# bob's job is asked, and the rigid job that waits for its GPUs starts.
. "$here/site.sh"
site_up
set_yaml "$(cat "$work/malleable.yaml")
resizes_in_flight: 2"

filler=$(user_rigid carol 600 --gpus=2 --nodes=1 -w n3)
wait_for 30 "start of carol's job" is_state "$filler" RUNNING
silent=()
for name in a b; do
    user_job alice $name --malleable=1:2 --malleable-grace=24:00:00 --exclude=n2 -- 100000 100 ignore
    silent+=("$job")
    wait_for 60 "run of alice's job $name" is_state "$job" RUNNING
    wait_for 60 "its 2 GPUs" eval '[ "$(gpus_of "$job")" = 2 ]'
done
user_job bob mine --malleable=1:4 -- 100000 100
wait_for 60 "run with 4" runs_with "$job" 4

# Two jobs that want what alice's jobs have borrowed, one after the other, then one that wants what bob's has.
first=$(user_rigid dave 600 --gpus=1 --exclude=n2)
one_is_asked() { has_event "${silent[0]}" asked || has_event "${silent[1]}" asked; }
wait_for 60 "request to one of alice's jobs" one_is_asked
second=$(user_rigid dave 600 --gpus=1 --exclude=n2)
for id in "${silent[@]}"; do wait_for 60 "request to alice's job $id" has_event "$id" asked; done
third=$(user_rigid dave 600 --gpus=2 --exclude=n1)
wait_for 60 "resize of bob's job" has_event "$job" resized
wait_for 60 "start of what waited for bob's GPUs" is_state "$third" RUNNING
is_state "$first" PENDING || fail "alice's job gave its GPUs: it was to be silent"
check_steps
