# SPDX-License-Identifier: BSD-3-Clause
# A pause outlasts its lease while there is a controller, which renews the start time, and ends after pause_longest_s:
# then the job waits in Slurm's order. A preloaded library puts the clock of all daemons forward
# (tests/faults/set_clock.cpp). slurmctld is restarted once meanwhile.
# seconds: 300
. "$here/pause.sh"
. "$here/clock.sh"
trap put_back EXIT
restart "$clock" "${daemons[@]}"
now_s() { echo $(($(date +%s) + $(cat "$RINGRT_CLOCK"))); }
# The start time is between half a lease and a whole one ahead of the daemons' clock.
is_renewed() {
    local ahead
    ahead=$(($(date -d "$(field "$job" EligibleTime)" +%s) - $(now_s)))
    [ $ahead -ge $((lease_s / 2 - 5)) ] && [ $ahead -le $((lease_s + 5)) ]
}
set_yaml "$(cat "$work/malleable.yaml")
pause_longest_s: 2000"
start_training leased -- 100000 100
pause_for 100000 -t 2000 # minutes
is_renewed || fail "its start time is $(field "$job" EligibleTime)"
for ahead in 320 640 960 1280 1600 1900; do # each time before the start time has passed
    echo $ahead >"$RINGRT_CLOCK"
    wait_for 20 "renewal with the clock at $ahead s" is_renewed
    is_paused "$job" || fail "with the clock at $ahead s it is $(state_of "$job")"
    has_starts 1 || fail "it started with the clock at $ahead s"
    [ $ahead != 960 ] || restart "$clock" slurmctld
done
echo 2050 >"$RINGRT_CLOCK"
is_ordinary() { is_state "$job" PENDING && ! intent_is "$job" paused; }
wait_for 30 "the end of the longest pause" is_ordinary
timeout 10 scancel "$short"
resumes "after the longest pause"
check_steps
injected 1
