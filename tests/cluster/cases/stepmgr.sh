# SPDX-License-Identifier: BSD-3-Clause
# --stepmgr (24.05): a slurmstepd of the job creates its steps, and slurmctld does not know them. A malleable job is
# resized by requeue and in place as any other.
# seconds: 400
sbatch --stepmgr --version >/dev/null 2>&1 || skip "this Slurm has no --stepmgr"
user=nobody
second_cluster --nodes 2 --conf PrologFlags=Contain --conf SlurmctldParameters=enable_stepmgr

start_job managed --stepmgr --malleable=1:8 -- 100000 100
wait_for 60 "run with 8 GPUs" runs_with "$job" 8
wait_for 20 "ten steps" has_steps 10
guest=$(rigid 4 600 -N1)
wait_for 60 "start of a rigid job" is_state "$guest" RUNNING
wait_for 60 "run with 4 GPUs" runs_with "$job" 4
check_steps
scancel "$guest" "$job"
wait_for 30 "end of all jobs" no_jobs

. "$here/live.sh"
directory=$work/in_place steps=300
mkdir "$directory" && chown "$user" "$directory" && cd "$directory" || fail "no directory"
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable --stepmgr -J train --malleable=1:4 -o "$directory/base" \
    --wrap "srun -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused the base"
wait_for 60 "four ranks" base_has 4
rigid=$(rigid 6 4 -N2 --gpus-per-node=3)
wait_for 60 "three GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
wait_for 120 "end of the base" is_state "$base" COMPLETED
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted
