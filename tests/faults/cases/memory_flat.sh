# SPDX-License-Identifier: BSD-3-Clause
# seconds: 1300
# A hundred thousand passes of the decision loop inside slurmctld: its memory is flat within 1 MB (F53).
# RINGRT_PASSES: how many.
passes=${RINGRT_PASSES:-100000}
set_yaml $'mode: act\nidle_poll_s: 0.001\nbusy_poll_s: 0.001\ninterval_s: 0.1\nsettle_s: 1\nmin_resize_interval_s: 5'
start_job a --malleable=1:8 -- 100000 500
start_job b --malleable=1:8 -- 100000 500
start_job c --malleable=4:16 -- 100000 500
sleep 5
passes_now() { grep -o '"passes":{"count":[0-9]*' "$dir/log/malleable_diag.json" | grep -o '[0-9]*$'; }
resident_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$("$cluster" daemon "$dir" pid slurmctld)/status"; }
reached() { [ "$(passes_now)" -ge "$1" ]; }
wait_for 200 "a tenth of the passes" reached $((passes / 10))
before=$(resident_kib)
start=$(passes_now)
wait_for 1000 "all passes" reached $((start + passes))
grown=$(($(resident_kib) - before))
note "measured: $(($(passes_now) - start)) passes, slurmctld's resident memory grew by $grown KiB"
[ $grown -lt 1024 ] || fail "grew by $grown KiB"
injected "$passes"
