# SPDX-License-Identifier: BSD-3-Clause
# Slurm signals every process of a step. Helpers without a handler, such as data workers and shells, must
# survive (F06). A process without a handler ignores the default signal.
directory=$work/helpers injected=0
mkdir -p "$directory"
cat >"$directory/job.sh" <<'END'
#!/bin/bash
srun bash -c 'python3 -c "import time; time.sleep(600)" & worker=$!; sleep 600 & shell=$!; sh -c "sleep 600" & deep=$!
    echo "$worker $shell $deep" >>"'"$1"'/pids.$SLURM_PROCID"; trap true URG; while :; do sleep 0.2; done'
END
chmod +x "$directory/job.sh"
job=$(timeout 20 sbatch --parsable --malleable=1:16 --gpus=16 --malleable-grace=0:06 -o "$directory/out" "$directory/job.sh" "$directory") || fail "sbatch refused it"
wait_for 40 "16 ranks with their helpers" bash -c "[ \"\$(cat $directory/pids.* | wc -l)\" = 16 ]"
guest=$(rigid 8 300 -N2)
wait_for 30 "request" has_event "$job" asked
for _ in 1 2 3 4 5; do timeout 10 scancel --signal=URG "$job"; sleep 0.2; done
wait_for 30 "end of the request: this job never leaves" has_event "$job" called_off
# shellcheck disable=SC2013 # words
for pid in $(cat "$directory"/pids.*); do
    kill -0 "$pid" 2>/dev/null || fail "helper $pid died of the signal"
    injected=$((injected + 6))
done
is_state "$job" RUNNING || fail "the job is $(state_of "$job")"
injected "$injected"
