# SPDX-License-Identifier: BSD-3-Clause
# Spare GPUs are not lent: a rigid job that they suffice for starts without a resize. Then others become spare.
user=nobody
set_yaml "mode: act
interval_s: 1
settle_s: 1
min_resize_interval_s: 2
fit_wait_s: 5
back_off_s: 30
spare_gpus: 4"
asked() { grep -c "\"job\":$job,\"event\":\"asked\"" "$dir/log/malleable_events.jsonl"; }
start_job spare_gpus --malleable=1:16 -- 100000 100
wait_for 30 "start with 8 of the 12 GPUs that are lent" runs_with "$job" 8
wait_for 20 "ten steps" has_steps 10
before=$(asked)
guest=$(rigid 4 300 -N1)
wait_for 5 "start of the rigid job" is_state "$guest" RUNNING
[ "$(asked)" = "$before" ] || fail "a job was asked for it"
second=$(rigid 4 300 -N1)
wait_for 5 "start of the second rigid job" is_state "$second" RUNNING
wait_for 40 "the job with 4 GPUs" runs_with "$job" 4
check_steps
