# SPDX-License-Identifier: BSD-3-Clause
# What a run does before its first step (here: a script that sleeps for five seconds, srun, the program's start)
# is in the job's record, and so in the cost of its next resize. It survives a kill of slurmctld.
need_digits
directory=$work/slow_start
mkdir -p "$directory"
train=$here/../../contrib/examples/train.sh
printf '#!/bin/bash\nsleep 5\nexec bash "%s" "$@"\n' "$train" >"$directory/script"
start_up() { timeout 10 scontrol -o show job "$job" | sed -n 's/.* AdminComment=.*malleable\/1 .*startup=\([0-9.]*\).*/\1/p'; }
is_noted() { awk -v s="$(start_up)" 'BEGIN { exit !(s >= 5 && s < 15) }'; }
trained_on() { awk -F, -v gpus="$1" '$4 == gpus { n++ } END { exit n < 10 }' "$directory/steps.csv"; }

blocker=$(rigid 12 300 -N3)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
job=$(DIGITS=$digits RINGRT_TELEMETRY_S=1 timeout 20 sbatch --parsable -J slow_start --malleable=1:8 --chdir="$directory" \
    --output="$directory/out" "$directory/script" --data="$data" --epochs=300 --device-ms-per-sample=5 \
    --loss-csv="$directory/steps.csv" --json="$directory/summary") || fail "sbatch refused it"
wait_for 60 "ten steps on 4 GPUs" trained_on 4
wait_for 20 "word of its start" is_noted
note "measured: $(start_up) s from its start to its first step"
scancel "$blocker"
wait_for 60 "ten steps on 8 GPUs" trained_on 8
sleep 6 # that is in the saved state
kill_slurmctld
start_slurmctld
wait_for 20 "word of it" is_noted
note "a restart costs $(gap_of "$job") s until it runs again, and $(start_up) s until it trains"
