#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A malleable job that knows nothing of libringrt, as training frameworks do it: each rank counts
# steps; on the signal rank 0 saves and has the job requeued; a restart goes on from what was saved.
#
# usage: sbatch --malleable=MIN:MAX plain_job.sh FOLDER STEPS STEP_MS [ignore|die]
# FOLDER/log has a line per step of rank 0, and per start; FOLDER/step is the checkpoint.
worker() {
    local folder=$1 steps=$2 pause=$3 manner=$4 step=0 asked=0
    # shellcheck disable=SC2154 # Slurm sets them
    if [ "$SLURM_PROCID" != 0 ]; then
        trap '' URG USR1
        until [ -e "$folder/done" ]; do sleep 0.5; done
        exit 0
    fi
    trap 'asked=1' URG USR1
    [ "$manner" = ignore ] && trap '' URG USR1
    [ -e "$folder/step" ] && read -r step <"$folder/step"
    echo "start restarts=${SLURM_RESTART_COUNT:-0} ranks=$SLURM_NTASKS nodes=$SLURM_NNODES step=$step time=$(date +%s.%N)" >>"$folder/log"
    while [ "$step" -lt "$steps" ]; do
        sleep "$pause"
        step=$((step + 1))
        echo "step $step ranks=$SLURM_NTASKS time=$(date +%s.%N)" >>"$folder/log"
        [ "$asked" = 0 ] && continue
        [ "$manner" = die ] && exit 9
        echo "$step" >"$folder/step.new" && mv "$folder/step.new" "$folder/step"
        echo "save $step time=$(date +%s.%N)" >>"$folder/log"
        scontrol requeue "$SLURM_JOB_ID" >>"$folder/log" 2>&1 && asked=0
        sleep 150 # Slurm takes the job down meanwhile (doc/slurm.md); if not, it goes on
    done
    echo "end step=$step time=$(date +%s.%N)" >>"$folder/log"
    touch "$folder/done"
}

if [ "${SLURM_PROCID:-}" != "" ] && [ "${1:-}" = --worker ]; then
    shift
    worker "$@"
    exit
fi
folder=$1 steps=$2 pause=$(awk "BEGIN { print $3 / 1000 }") manner=${4:-save}
# one task per GPU, whatever the size
srun "$0" --worker "$folder" "$steps" "$pause" "$manner"
