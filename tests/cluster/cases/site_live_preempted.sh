# SPDX-License-Identifier: BSD-3-Clause
# Extensions in a QOS that Slurm preempts (extension_qos). Another user's job takes their GPUs by Slurm's own
# preemption. The training continues without them in the same run, and grows again afterwards.
. "$here/site.sh"
. "$here/live.sh"
echo 'resize: live
extension_qos: scavenger' >>"$work/malleable.yaml"
site_up
steps=600 directory=$dir/home/alice/live
qos_of() { timeout 5 squeue -h -o '%j %q' | sed -n "s/^$1 //p"; }

# The base starts on n3, because other jobs hold n1 and n2.
filler=$(user_rigid dave 600 --gpus=8 --nodes=2 -w "n[1-2]")
wait_for 30 "start of the filler" is_state "$filler" RUNNING
as alice mkdir -p "$directory"
base=$(as alice env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train -q team --malleable=1:4 -D "$directory" -o "$directory/base" \
    --wrap "srun -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused the base"
wait_for 60 "two ranks on n3" base_has 2
timeout 10 scancel "$filler"
wait_for 60 "four ranks" base_has 4
[ "$(qos_of train)" = team ] && [ "$(qos_of 'train+2')" = scavenger ] || fail "QOS: $(timeout 5 squeue -h -o '%j %q')"

preemptor=$(user_rigid carol 8 -p urgent -q urgent --gpus=8 --nodes=2 -w "n[1-2]")
asked=$SECONDS
wait_for 30 "start of the preemptor" is_state "$preemptor" "RUNNING COMPLETED"
note "measured: the preemptor waited $((SECONDS - asked)) s"
wait_for 20 "two ranks at the same time" base_has 2
wait_for 90 "four ranks again" base_has 4
wait_for 120 "end of the base" is_state "$base" COMPLETED
wait_for 30 "end of its extensions" no_jobs
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted
