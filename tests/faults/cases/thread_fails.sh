# SPDX-License-Identifier: BSD-3-Clause
# On the plugin's thread Slurm's listing throws, is slow, or blocks forever. Malleability pauses and logs it,
# rigid jobs continue, and slurmctld answers and stops within 5 s (F22). A library preloaded into slurmctld
# injects this into that thread only.
faults=$plugins/api_faults.so
[ -e "$faults" ] || { note "skipped: api_faults.so is not built (make api_faults.la)"; exit 77; }
ringstat=$(dirname "$plugins")/ringstat
export RINGRT_API_FAULT=$work/fault
echo none >"$RINGRT_API_FAULT"
"$cluster" daemon "$dir" term slurmctld
LD_PRELOAD=$faults "$cluster" daemon "$dir" start slurmctld
wait_for 30 "answer from slurmctld" answers
start_job steady --malleable=1:8 -- 100000 100
wait_for 30 "start" runs_with "$job" 8

goes_on() { # WHEN: a rigid job starts and ends, and the malleable one is not touched
    local other
    other=$(rigid 1 1)
    wait_for 30 "end of a rigid job while the thread $1" is_state "$other" COMPLETED
    runs_with "$job" 8 && [ "$(starts)" = 1 ] || fail "the job was touched while the thread $1"
}
echo throw >"$RINGRT_API_FAULT"
wait_for 15 "word of the exception" logged 'no resizes for 30 s: a pass failed: injected'
goes_on throws
"$ringstat" diag | grep -q 'passes failed, the last one: injected' || fail "ringstat diag does not tell of it"

echo slow >"$RINGRT_API_FAULT"
sleep 32 # the pause after an exception
goes_on "is slow"
echo block >"$RINGRT_API_FAULT"
sleep 5
goes_on hangs
began=$(date +%s%N)
"$cluster" daemon "$dir" term slurmctld
took_ms=$((($(date +%s%N) - began) / 1000000))
[ $took_ms -lt 5000 ] || fail "slurmctld took $took_ms ms to stop while the thread hangs"
note "measured: slurmctld stopped in $took_ms ms while the plugin's thread hung in a call"
# Without the library everything works again.
start_slurmctld
guest=$(rigid 8 300 -N2)
grown=$(rigid 4 300)
wait_for 60 "resize, now that the fault is gone" has_event "$job" resized
check_steps
injected 3
