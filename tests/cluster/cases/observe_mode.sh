# SPDX-License-Identifier: BSD-3-Clause
# mode: observe decides and logs, and changes nothing.
set_yaml "$(sed 's/mode: act/mode: observe/' "$work/malleable.yaml")"
sleep 2
start_job watched --malleable=1:16 --gpus=4 -- 100000 100
wait_for 40 "start with 4 GPUs" runs_with "$job" 4
wait_for 20 "word of what would be done" has_event "$job" dry_run
sleep 3
runs_with "$job" 4 && [ "$(starts)" = 1 ] || fail "the job was touched"
intent_is "$job" queued || fail "the record was touched"
