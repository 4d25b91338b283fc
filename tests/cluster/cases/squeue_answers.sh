# SPDX-License-Identifier: BSD-3-Clause
#
# alone: it measures squeue
# squeue answers within a second during resizes (I1).
worst_ms=0 calls=0
ask() {
    local began took_ms
    began=$(date +%s%N)
    timeout 10 squeue -h >/dev/null || fail "squeue got no answer"
    took_ms=$((($(date +%s%N) - began) / 1000000))
    calls=$((calls + 1))
    [ $took_ms -le $worst_ms ] || worst_ms=$took_ms
}
start_job busy --malleable=1:16 -- 100000 100
first=$job
start_job busy2 --malleable=1:16 -- 100000 100
for _ in 1 2; do
    guest=$(rigid 8 300 -N2)
    for _ in $(seq 60); do ask; sleep 0.1; done
    scancel "$guest"
    for _ in $(seq 40); do ask; sleep 0.1; done
done
resizes=$(($(count_events "$first" resized) + $(count_events "$job" resized)))
note "measured: squeue took at most $worst_ms ms in $calls calls, $resizes resizes meanwhile"
[ $resizes -ge 1 ] && [ $worst_ms -lt 1000 ]
