# SPDX-License-Identifier: BSD-3-Clause
# scontrol reconfigure a hundred times during resizes: no job is lost, no step (F28).
start_job busy --malleable=1:16 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
times=0
for ((i = 0; i < 100; i++)); do
    [ $((i % 25)) = 0 ] && guest=$(rigid 8 300 -N2)
    [ $((i % 25)) = 12 ] && scancel "$guest"
    timeout 10 scontrol reconfigure && times=$((times + 1))
    sleep 0.2
done
answers || fail "slurmctld does not answer"
clear_guests() { timeout 10 scancel -n rigid; }
clear_guests
wait_for 60 "16 GPUs at the end" runs_with "$job" 16
check_steps
note "measured: $times reconfigurations, $(count_events "$job" resized) resizes meanwhile"
[ "$(count_events "$job" resized)" -ge 2 ] || fail "no resizes happened meanwhile"
injected "$times"
