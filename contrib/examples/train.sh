#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#SBATCH --job-name=digits --time=1:00:00
# A malleable training job: one rank per GPU, at any size. After a requeue it continues from its
# checkpoint. Submit: sbatch --malleable=1:8 train.sh [OPTION of digits...]
export RINGRT_CHECKPOINT_DIR=${RINGRT_CHECKPOINT_DIR:-$PWD/checkpoints-$SLURM_JOB_ID}
exec srun "${DIGITS:-./digits}" "$@"
