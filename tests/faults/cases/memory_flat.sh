# SPDX-License-Identifier: BSD-3-Clause
#
# seconds: 1300
# A hundred thousand passes of the decision loop inside slurmctld while jobs resize: nothing that the plugin's
# thread allocates is leaked (F53). A preloaded library counts those allocations, because slurmctld's own
# memory grows with its jobs and its threads' heaps. RINGRT_PASSES: how many passes.
passes=${RINGRT_PASSES:-100000}
limit_kib=64
account=$plugins/heap_account.so
[ -e "$account" ] || { note "skipped: heap_account.so is not built (make heap_account.la)"; exit 77; }
set_yaml $'mode: act\nidle_poll_s: 0.001\nbusy_poll_s: 0.001\ninterval_s: 0.1\nsettle_s: 1\nmin_resize_interval_s: 5'
export RINGRT_HEAP_ACCOUNT=$work/heap
"$cluster" daemon "$dir" term slurmctld
LD_PRELOAD=$account "$cluster" daemon "$dir" start slurmctld
wait_for 30 "answer from slurmctld" answers
start_job a --malleable=1:8 -- 100000 500
a=$job
start_job b --malleable=1:8 -- 100000 500
start_job c --malleable=4:16 -- 100000 500
sleep 5
passes_now() { grep -o '"passes":{"count":[0-9]*' "$dir/log/malleable_diag.json" | grep -o '[0-9]*$'; }
resident_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$("$cluster" daemon "$dir" pid slurmctld)/status"; }
# Keeps the queue changing, so that every listing returns jobs. An unchanged queue is not listed again, which
# would hide a leak per listing.
reached() {
    scontrol update jobid="$a" comment="$SRANDOM"
    [ "$(passes_now)" -ge "$1" ]
}
# The plugin's allocated KiB. The minimum of several readings, because one may fall into a pass.
plugin_kib() {
    for _ in $(seq 10); do
        grep -o 'plugin=[0-9]*' "$RINGRT_HEAP_ACCOUNT" | grep -o '[0-9]*'
        sleep 1
    done | sort -n | awk 'NR == 1 { print int($1 / 1024) }'
}
wait_for 200 "a tenth of the passes" reached $((passes / 10))
start=$(passes_now) before=$(resident_kib) ours=$(plugin_kib)
for part in 1 2 3 4; do
    wait_for 1000 "part $part of the passes" reached $((start + passes * part / 4))
    note "measured: after $(($(passes_now) - start)) passes the plugin's thread holds $(plugin_kib) KiB (at first $ours)," \
        "slurmctld's resident memory has grown by $(($(resident_kib) - before)) KiB; heaps: $(cat "$RINGRT_HEAP_ACCOUNT")"
done
grown=$(($(plugin_kib) - ours))
[ $grown -lt $limit_kib ] || fail "what the plugin's thread holds grew by $grown KiB"
injected "$passes"
