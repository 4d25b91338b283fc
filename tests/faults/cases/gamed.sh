# SPDX-License-Identifier: BSD-3-Clause
# A user games the controller: MIN = MAX, many tiny malleable jobs, false progress reports. No such job gets a
# rigid job's GPUs or more than its range. A new rigid job gets what is borrowed (F46).
false_report='ringrt/1 run=0 gpus=16 step=999999999 step_ms=0.001 left=999999999999 ckpt=999999999 up=1 speed=1:1000000,16:0.001'
greedy=$(timeout 20 sbatch --parsable --malleable=4:4 -o /dev/null --wrap 'srun sleep 600') || fail "MIN = MAX was refused"
wait_for 30 "start" is_state "$greedy" RUNNING
for i in $(seq 20); do
    liars[i]=$(timeout 20 sbatch --parsable --malleable=1:8 --comment="$false_report" -o /dev/null --wrap 'sleep 600')
done
sleep 8
for i in $(seq 20); do timeout 10 scontrol update jobid="${liars[i]}" comment="$false_report" 2>/dev/null; done
honest=$(rigid 2 60)
start_job fair --malleable=1:8 -- 100000 200
for _ in $(seq 20); do
    [ "$(gpus_of "$greedy")" = 4 ] || fail "MIN = MAX has $(gpus_of "$greedy") GPUs"
    total=$(timeout 5 scontrol -o show job | sed -n 's/.*JobState=RUNNING .*TresPerJob=[^ ]*gpu:\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }')
    [ "$total" -le 16 ] || fail "$total GPUs are given out of 16"
    sleep 1
done
# Every running job with false reports may be asked, and is called off or leaves. The honest jobs must not
# starve.
scancel "${liars[@]:0:20}"
wait_for 60 "start of the honest job" is_state "$honest" RUNNING
wait_for 60 "start of the fair job" is_state "$job" RUNNING
answers || fail "slurmctld does not answer"
injected 22
