# SPDX-License-Identifier: BSD-3-Clause
#
# alone: it measures how long slurmctld takes to stop
# slurmctld stops within 5 s during resizes (F22).
start_job busy --malleable=1:16 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
guest=$(rigid 8 300 -N2)
wait_for 20 "request" has_event "$job" asked
began=$(date +%s%N)
"$cluster" daemon "$dir" term slurmctld
took_ms=$((($(date +%s%N) - began) / 1000000))
start_slurmctld
wait_for 60 "resize after the restart" runs_with "$job" 8
check_steps
note "measured: slurmctld stopped in $took_ms ms during a resize"
[ $took_ms -lt 5000 ]
