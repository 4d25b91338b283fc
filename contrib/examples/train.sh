#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#SBATCH --job-name=digits --malleable=1:8 --time=1:00:00
# A malleable training job: one rank per GPU, at whatever size it is given. Ended and started again by
# the scheduler, it goes on from its checkpoint. Submit: sbatch train.sh [option of digits...]
export RINGRT_CHECKPOINT_DIR=${RINGRT_CHECKPOINT_DIR:-$PWD/checkpoints-$SLURM_JOB_ID}
exec srun "${DIGITS:-./digits}" "$@"
