# SPDX-License-Identifier: BSD-3-Clause
# Hundreds of signals while a training saves for its resize: one checkpoint, one resize (F07). They go only to
# the processes that save: a signal to the next run would be a new, valid request.
. "$here/../faults/training.sh"
start_training storm 1:16 400
wait_for 60 "steps on 16 GPUs" trained_on 10 16
ranks=$(for node in n1 n2 n3 n4; do timeout 10 scontrol listpids "$job.0" $node; done 2>/dev/null | awk '$1 ~ /^[0-9]+$/ && $4 ~ /^[0-9]+$/ { print $1 }')
[ "$(wc -w <<<"$ranks")" = 16 ] || fail "listpids tells of $(wc -w <<<"$ranks") ranks"
guest=$(rigid 8 300 -N2)
wait_for 30 "request" has_event "$job" asked
# Without a pause: a fast machine has saved and left half a second later.
sent=0
for _ in $(seq 2000); do
    alive=
    for rank in $ranks; do kill -URG "$rank" 2>/dev/null && sent=$((sent + 1)) && alive=yes; done
    [ -n "$alive" ] || break
done
[ $sent -ge 100 ] || fail "only $sent signals met a rank"
wait_for 60 "steps on 8 GPUs" trained_on 10 8
# Later resizes are the policy's decision. Each was asked for, and the storm added none.
as_many() { [ "$(count_events "$job" resized)" = "$(count_events "$job" asked)" ]; }
wait_for 60 "an end of each resize" as_many
[ "$(count_events "$job" started)" = 1 ] || fail "ran $(count_events "$job" started) times without being asked"
check_training
note "measured: $sent more signals while it saved and left"
injected "$sent"
