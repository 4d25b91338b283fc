# SPDX-License-Identifier: BSD-3-Clause
# Resizing in place below a limit: a training of 1 to 8 in a QOS of 4 GPUs grows by extensions to 4. No
# extension is submitted beyond that, though GPUs are free.
. "$here/site.sh"
. "$here/live.sh"
echo 'resize: live' >>"$work/malleable.yaml"
site_up
limit qos team set GrpTRES=gres/gpu=4
steps=400 directory=$dir/home/alice/live
as alice mkdir -p "$directory"
base=$(as alice env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train -q team --malleable=1:8 -D "$directory" -o "$directory/base" \
    --wrap "srun -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused the base"
wait_for 60 "four ranks" base_has 4
sleep 8
base_has 4 || fail "ranks: $(last_ranks)"
submitted=$(grep -o 'extensions\? of [0-9, ]* GPUs\? \(is\|are\) submitted' "$dir/log/malleable_events.jsonl" | tr '\n' ';')
echo "# $submitted"
gpus=$(grep -o '[0-9]\+' <<<"$submitted" | awk '{ sum += $1 } END { print sum + 0 }')
[ "$gpus" = 3 ] || fail "extensions of $gpus GPUs were submitted"
wait_for 120 "end of the base" is_state "$base" COMPLETED
wait_for 30 "end of its extensions" no_jobs
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted
