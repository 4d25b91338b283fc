# SPDX-License-Identifier: BSD-3-Clause
# A hundred signals while a training saves for its resize, and a SIGTERM of the node's own kind to none:
# one checkpoint, one resize (F07).
. "$here/../faults/training.sh"
start_training storm 1:16 400
wait_for 60 "steps on 16 GPUs" trained_on 10 16
guest=$(rigid 8 300 -N2)
wait_for 30 "request" has_event "$job" asked
sent=0
for _ in $(seq 100); do timeout 10 scancel --signal=URG "$job" 2>/dev/null && sent=$((sent + 1)); is_state "$job" RUNNING || break; done
wait_for 60 "ten steps on 8 GPUs" trained_on 10 8
sleep 5
[ "$(count_events "$job" resized)" = 1 ] || fail "resized $(count_events "$job" resized) times"
check_training
note "measured: $sent more signals while it saved and left"
injected $((sent + 1))
