# SPDX-License-Identifier: BSD-3-Clause
# Forged SPANK environments by libslurm alone: 10,000 entries, an entry of a megabyte, hostile values.
# They are ignored or refused, and slurmctld's memory stays flat (F42).
submit_many=$(dirname "$plugins")/tests/faults/submit_many
[ -x "$submit_many" ] || { note "skipped: submit_many is not built (make tests/faults/submit_many)"; exit 77; }
resident_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$("$cluster" daemon "$dir" pid slurmctld)/status"; }
send() { timeout 100 "$submit_many" "$@" gpus=1 >/dev/null; timeout 20 scancel --user=root; wait_for 60 "end of all jobs" no_jobs; }
send 10 true entries=10000 # warm up: Slurm keeps what it has allocated once
send 10 true bytes=1000000
before=$(resident_kib)
count=0
for _ in 1 2 3 4; do
    send 10 true entries=10000 && count=$((count + 10))
    send 10 true bytes=1000000 && count=$((count + 10))
    timeout 60 "$submit_many" 10 true malleable='1:8;rm' gpus=1 >/dev/null && fail "a forged flag was accepted"
    timeout 60 "$submit_many" 10 true malleable="$(head -c 100000 /dev/zero | tr '\0' 9)" gpus=1 >/dev/null && fail "a long flag was accepted"
    count=$((count + 20))
done
answers || fail "slurmctld does not answer"
grown=$(($(resident_kib) - before))
note "measured: slurmctld's resident memory grew by $grown KiB over $count forged submissions"
# 40 jobs x 10,000 entries are 14 MB, those of a megabyte 40: kept, it would be far more than this.
[ $grown -lt 20000 ] || fail "slurmctld grew by $grown KiB"
injected $count
