# SPDX-License-Identifier: BSD-3-Clause
# A maintenance reservation covers nodes on which jobs run, and begins before their time limits
# (maint,ignore_jobs). Stock Slurm lets them run until it begins. A job that left for a resize would not
# restart before the reservation's end. So no job there is asked, and no job grows onto such nodes. A job that
# ends before the reservation may use them.
reserve() { # NODES
    timeout 10 scontrol create reservation reservationname=care starttime=now+5minutes duration=60 \
        users=root flags=maint,ignore_jobs nodes="$1" >/dev/null || fail "no reservation"
}
unreserve() { timeout 10 scontrol delete reservationname=care || fail "the reservation stays"; }
trap 'scontrol delete reservationname=care 2>/dev/null' EXIT
guest=$(rigid 12 300 -N3)
wait_for 20 "start of the rigid job" is_state "$guest" RUNNING
start_job long --malleable=1:16 --time=30 -- 100000 100
wait_for 60 "run with 4" runs_with "$job" 4
wait_for 20 "ten steps" has_steps 10
asked_before=$(count_events "$job" asked)
reserve ALL
sleep 8 # the controller lists reservations every five seconds
timeout 10 scancel "$guest"
sleep 10
[ "$(count_events "$job" asked)" = "$asked_before" ] || fail "it was asked to leave nodes that are reserved"
runs_with "$job" 4 || fail "it does not run on"
why=$(timeout 10 "$(dirname "$plugins")/ringstat" explain "$job") || fail "explain: $why"
[[ $why == *reservation* ]] || fail "explain says: $why"

start_job short --malleable=1:8 --time=2 -- 100000 100
wait_for 60 "growth of one that ends before the reservation" runs_with "$job" 8
timeout 10 scancel "$job"
wait_for 30 "end of the short one" is_state "$job" CANCELLED
unreserve
reserve "n[3-4]"
timeout 10 scancel -u root
wait_for 60 "end of all jobs" no_jobs
start_job beside --malleable=1:16 --time=30 -- 100000 100
wait_for 60 "growth onto the nodes that are not reserved" runs_with "$job" 8
sleep 8
runs_with "$job" 8 || fail "it left the nodes that are not reserved"
unreserve
wait_for 60 "growth onto all nodes" runs_with "$job" 16
check_steps
