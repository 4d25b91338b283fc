#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A real training over libringrt for the soak: if a rank dies, the job requeues itself and continues from its
# last checkpoint.
#
# usage: soak_train.sh DIRECTORY DIGITS DATA EPOCHS
directory=$1
export RINGRT_CHECKPOINT_DIR=$directory/ckpt
srun --kill-on-bad-exit "$2" --data="$3" --epochs="$4" --device-ms-per-sample=20 --save-interval=20 \
    --loss-csv="$directory/steps.csv" --json="$directory/summary" && exit
[ -e "$directory/summary" ] && exit
# A run that could save nothing is retried only a few times: a disk may stay full forever.
now=$(md5sum <"$directory/ckpt/LATEST" 2>&1) before=x vain=0
[ -e "$directory/vain" ] && read -r vain before <<<"$(cat "$directory/vain")"
[ "$now" = "$before" ] && vain=$((vain + 1)) || vain=0
echo "$vain $now" >"$directory/vain"
[ "$vain" -lt 8 ] || { echo "8 runs, and no new checkpoint: given up"; exit 1; }
sleep 2
scontrol requeue "$SLURM_JOB_ID"
sleep 60 # until Slurm takes the script down
exit 1
