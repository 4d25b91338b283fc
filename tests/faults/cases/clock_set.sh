# SPDX-License-Identifier: BSD-3-Clause
# The wall clock of all daemons is set back and forward by ten minutes while a job trains. It is resized as before,
# within seconds, and does every step once. After the clock was set back, stock Slurm starts no job until slurmctld is
# restarted (22.05.8), so that is done. It is set back before the first requeue: a slurmd refuses the steps of a job that
# was requeued at a later time. A preloaded library sets the clock (tests/faults/set_clock.cpp).
# seconds: 400
. "$here/clock.sh"
trap put_back EXIT
restart "$clock" "${daemons[@]}"
start_job steady --malleable=1:8 -- 100000 100
wait_for 60 "start" runs_with "$job" 8
for ahead in -600 0 600; do
    wait_for 60 "8 GPUs" runs_with "$job" 8
    sleep 3
    before=$(cat "$RINGRT_CLOCK")
    echo "$ahead" >"$RINGRT_CLOCK"
    sleep 1
    [ "$ahead" -gt "$before" ] || restart "$clock" slurmctld
    began=$SECONDS
    guest=$(rigid 12 300)
    wait_for 90 "shrink with the clock at $ahead s" runs_with "$job" 4
    note "measured: $((SECONDS - began)) s until 4 GPUs, with the clock set to $ahead s"
    timeout 10 scancel "$guest"
    began=$SECONDS
    wait_for 90 "growth with the clock at $ahead s" runs_with "$job" 8
    note "measured: $((SECONDS - began)) s until 8 GPUs, with the clock set to $ahead s"
done
check_steps
injected 3
