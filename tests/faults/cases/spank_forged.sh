# SPDX-License-Identifier: BSD-3-Clause
# Forged SPANK environments through libslurm alone: 10,000 entries, an entry of a megabyte, hostile values.
# They are ignored or refused, and cost slurmctld no more memory than a stock slurmctld at the same time (F42). Slurm
# itself keeps the environments of ended jobs for MinJobAge.
submit_many=$(dirname "$plugins")/tests/faults/submit_many
[ -x "$submit_many" ] || { note "skipped: submit_many is not built (make tests/faults/submit_many)"; exit 77; }
stock=$work/stock
"$cluster" start --dir "$stock" --nodes 1 --no-malleable >/dev/null || fail "no stock cluster"
trap '"$cluster" stop "$stock"' EXIT
on() { "$cluster" exec "$1" "${@:2}"; }
resident_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$("$cluster" daemon "$1" pid slurmctld)/status"; }
is_empty() { [ -z "$(on "$1" timeout 5 squeue -h)" ]; }
send() { # CLUSTER WHAT
    on "$1" timeout 100 "$submit_many" 10 true "$2" gpus=1 >/dev/null
    on "$1" timeout 20 scancel --user=root
    wait_for 60 "end of all jobs" is_empty "$1"
}
send_both() { send "$1" entries=10000 && send "$1" bytes=1000000; }
refused() { timeout 60 "$submit_many" 10 true malleable="$1" gpus=1 >/dev/null && fail "a forged flag was accepted"; }
send_both "$dir"; send_both "$stock" # warm up: Slurm keeps memory that it has allocated once
before=$(resident_kib "$dir") before_stock=$(resident_kib "$stock") count=0
for _ in 1 2 3 4; do
    send_both "$dir"; send_both "$stock"
    refused '1:8;rm'
    refused "$(head -c 100000 /dev/zero | tr '\0' 9)"
    count=$((count + 40))
done
answers || fail "slurmctld does not answer"
grown=$(($(resident_kib "$dir") - before)) grown_stock=$(($(resident_kib "$stock") - before_stock))
note "measured: slurmctld grew by $grown KiB over $count forged submissions, a stock one by $grown_stock KiB"
# The controller's copy of 80 records is far smaller than this limit. The environment of one of them would be
# 54 MB.
[ $grown -lt $((grown_stock + 20000)) ] || fail "slurmctld grew by $grown KiB, a stock one by $grown_stock KiB"
injected $count
