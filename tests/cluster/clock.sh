# SPDX-License-Identifier: BSD-3-Clause
# Shared by the cases that set the clock of all daemons, which source it: a preloaded library adds the seconds in the
# file $RINGRT_CLOCK to the clock (tests/faults/set_clock.cpp).
# shellcheck shell=bash disable=SC2034,SC2154
clock=$plugins/set_clock.so
[ -e "$clock" ] || { note "skipped: set_clock.so is not built (make set_clock.la)"; exit 77; }
export RINGRT_CLOCK=$work/clock
echo 0 >"$RINGRT_CLOCK"
daemons=(slurmctld n1 n2 n3 n4)
[ "$host" = plugin ] || daemons+=(ringrtd)
restart() { # PRELOAD DAEMON...
    local name preload=$1
    shift
    for name; do "$cluster" daemon "$dir" term "$name"; done
    for name; do LD_PRELOAD=$preload "$cluster" daemon "$dir" start "$name"; done
    wait_for 30 "answer from slurmctld" answers
}
# First the jobs end: a run that ends as the clock is set back drains its node ("Kill task failed").
put_back() {
    (clear_jobs)
    restart "" "${daemons[@]}"
}
