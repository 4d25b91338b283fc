# SPDX-License-Identifier: BSD-3-Clause
# seconds: 120
# resize: live (doc/job.md): an ordinary user's program of three handles (contrib/examples/job.c) grows in place from 1
# to 4 GPUs by two extension jobs, and gives them back to a rigid job. A rank of the last extension is killed. Each
# sample is used once: a lost or repeated one would change the sum of squares. Its base is never restarted.
. "$here/live.sh"
program=$plugins/../job
[ -x "$program" ] || skip "contrib/examples/job.c is not built"
user=nobody directory=$work/job_handle_live steps=500 batch=30
own_directory
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
ranks_are() { [ "$(sed -n 's/^\(start\|resized\) at step .* \([0-9]*\) ranks$/\2/p' "$directory/base" 2>/dev/null | tail -n 1)" = "$1" ]; }
base=$(as_user env RINGRT_LIVE_RESIZE=1 RINGRT_SAVE_INTERVAL_S=1 sbatch --parsable -J train --malleable=1:4 -o "$directory/base" \
    --wrap "srun -n \$SLURM_NTASKS $program $steps 200") || fail "sbatch refused the base"
wait_for 40 "start on 1 GPU" ranks_are 1
wait_for 60 "four ranks" ranks_are 4
[ "$(timeout 5 squeue -h -o %j | sort | tr '\n' ' ')" = "train train+1 train+2 " ] || fail "their names: $(squeue -h -o %j)"

rigid=$(rigid 12 4 --nodes=4 --gpus-per-node=3)
wait_for 30 "three GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
wait_for 20 "one rank" ranks_are 1
wait_for 60 "four ranks again" ranks_are 4
kill_first_rank "$(timeout 5 squeue -h -o '%i %j' | awk '$2 == "train+2" { print $1 }')"
wait_for 20 "fewer ranks: one was killed" eval '! ranks_are 4'
wait_for 120 "end of the base" is_state "$base" COMPLETED
wait_for 20 "end of its extensions" no_jobs
n=$((steps * batch)) sum=$(((n - 1) * n * (2 * n - 1) / 6))
grep -q "^ended at step $steps on [0-9]* ranks: the sum is $sum\$" "$directory/base" || { cat "$directory/base"; fail "expected the sum $sum"; }
awk '/^saved step/ && $5 > $3 { n++ } END { exit !n }' "$directory/base" || { cat "$directory/base"; fail "no save took place in the background"; }
check_never_restarted
