# SPDX-License-Identifier: BSD-3-Clause
# The controller takes a whole node of a base that started with more than MIN, for another user's job: the base trains
# on, in the same run, and grows again later. Only from Slurm 24.11 on (can_keep_nodes()).
. "$here/site.sh"
. "$here/live.sh"
echo 'resize: live' >>"$work/malleable.yaml"
site_up
slurm_at_least 24.11 || { note "skipped: Slurm $(site_slurm) refuses updates of a job after its node list was changed"; exit 77; }
steps=600 directory=$dir/home/alice/live
as alice mkdir -p "$directory"
# Only the script sets the variable, so the job starts as one that is requeued.
base=$(as alice sbatch --parsable -J train --malleable=4:8 --gpus=8 --constraint=a100 -D "$directory" -o "$directory/base" \
    --wrap "RINGRT_LIVE_RESIZE=1 srun -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused the base"
wait_for 60 "eight ranks" base_has 8
[ "$(timeout 5 squeue -h -j "$base" -o %D)" = 2 ] || fail "the base is not on two nodes"
nodes=$(timeout 5 squeue -h -j "$base" -o %N)
last=$(timeout 5 scontrol show hostnames "$nodes" | tail -n 1)
rigid=$(user_rigid carol 8 --gpus=4 --nodes=1 -w "$last")
asked=$SECONDS
wait_for 60 "start of the other user's job" is_state "$rigid" "RUNNING COMPLETED"
note "measured: it waited $((SECONDS - asked)) s"
wait_for 10 "four ranks" base_has 4
[ "$(timeout 5 squeue -h -j "$base" -o %D)" = 1 ] || fail "the base still has two nodes"
wait_for 120 "end of the base" is_state "$base" COMPLETED
wait_for 30 "end of its extensions" no_jobs
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted
# Billed at each size: a row until the node was returned, and one after it.
rows() { timeout 10 sacct -n -X -P -D -j "$base" -o alloctres | grep -o 'gres/gpu=[0-9]*' | paste -sd ' '; }
is_billed() { [ "$(rows)" = "gres/gpu=8 gres/gpu=4" ]; }
wait_for 20 "a row of 8 GPUs and one of 4 in accounting" is_billed
