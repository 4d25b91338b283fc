# SPDX-License-Identifier: BSD-3-Clause
# alone: MASTER_PORT comes from the number of the job, and that of each cluster's first job is 1
#
# seconds: 300
# torchrun as the task of each node, below a shell, with the real torch. Its workers receive the resize
# request and leave through its agent. 1, 4, 2 GPUs; each sample is used once an epoch.
. "$here/torch.sh"
need_modules torch
own_port
package=$here/../../python directory=$work/torchrun epochs=6
export PYTHONPATH=$package
mkdir -p "$directory"
cat >"$directory/job.sh" <<END
#!/bin/bash
#SBATCH --job-name=torchrun --nodes=1 --gpus-per-node=4 --open-mode=append --output=$directory/out
export RINGRT_CHECKPOINT_DIR=$directory/ckpt RINGRT_TELEMETRY_S=1
srun bash -c '"$python" -m torch.distributed.run --nnodes=\$SLURM_NNODES --nproc-per-node=\$SLURM_GPUS_ON_NODE \\
    --rdzv-backend=c10d --rdzv-endpoint=\$MASTER_ADDR:\$MASTER_PORT $package/tests/train_torch.py distributed 0.15 0 $epochs; exit \$?'
END
goes_on() { ! is_state "$job" "FAILED CANCELLED" || { tail -n 20 "$directory/out" | cut -c1-200 | sed 's/^/# /'; fail "the training ended"; }; }
trains_on() { goes_on; trained_on "$@"; }

most=$(rigid 12 600 -N3) more=$(rigid 3 600 -N1)
wait_for 20 "start of the first rigid jobs" is_state "$more" RUNNING
job=$(DIRECTORY=$directory timeout 20 sbatch --parsable --malleable=1:4 --chdir="$directory" "$directory/job.sh") || fail "sbatch refused it"
wait_for 90 "steps on 1 GPU" trains_on 1 8
scancel "$more"
wait_for 120 "steps on 4 GPUs" trains_on 4 5
note "measured: $(gap_of "$job") s from the signal until it ran again, at 4 GPUs"
second=$(rigid 2 600 -N1)
wait_for 120 "steps on 2 GPUs" trains_on 2 4
note "measured: $(gap_of "$job") s from the signal until it ran again, at 2 GPUs"
scancel "$most" "$second"
wait_for 200 "end of the training" is_state "$job" COMPLETED
each_sample_once $epochs
note "measured: $(ls "$directory"/seen.*.0 | wc -l) runs, $(steps_at 1), $(steps_at 2), $(steps_at 4) micro-batches of rank 0 on 1, 2, 4 GPUs"
