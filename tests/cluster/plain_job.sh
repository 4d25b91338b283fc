#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A malleable job without libringrt, like a training framework. Each rank counts steps. On the signal rank 0
# saves and has the job requeued. A restart continues from the save.
#
# usage: sbatch --malleable=MIN:MAX plain_job.sh DIRECTORY STEPS STEP_MS [ignore|die|again]
# DIRECTORY/log has a line per step of rank 0, and per start. DIRECTORY/step is the checkpoint, or
# PLAIN_JOB_CHECKPOINT. `again`: if a rank dies, the job requeues itself. A task of an array uses the directory
# DIRECTORY/TASK.
save() { # FILE STEP: keeps the old file if it fails
    echo "$2" >"$1.new" && [ "$(cat "$1.new")" = "$2" ] && mv "$1.new" "$1"
}

# For scontrol the number of an array's last task means all of its tasks.
me() {
    [ "${SLURM_ARRAY_JOB_ID:-}" != "$SLURM_JOB_ID" ] || { echo "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"; return; }
    echo "$SLURM_JOB_ID"
}

# Only one incarnation writes: after a kill slurmctld may start a job while its own old run lives.
fence=$$.$RANDOM
is_mine() { local owner; read -r owner <"$1/owner" && [ "$owner" = "$fence" ]; }

worker() {
    local directory=$1 steps=$2 pause=$3 manner=$4 step=0 asked=0 since_save=0
    local checkpoint=${PLAIN_JOB_CHECKPOINT:-$directory/step}
    # shellcheck disable=SC2154 # Slurm sets them
    if [ "$SLURM_PROCID" != 0 ]; then
        trap '' URG USR1
        until [ -e "$directory/done" ]; do sleep "${PLAIN_JOB_POLL_S:-0.5}"; done
        exit 0
    fi
    trap 'asked=1' URG USR1
    [ "$manner" = ignore ] && trap '' URG USR1
    echo "$fence" >"$directory/owner.new" && mv "$directory/owner.new" "$directory/owner"
    [ -e "$checkpoint" ] && read -r step <"$checkpoint"
    echo "start job=$SLURM_JOB_ID restarts=${SLURM_RESTART_COUNT:-0} ranks=$SLURM_NTASKS nodes=$SLURM_NNODES step=$step time=$EPOCHREALTIME" >>"$directory/log"
    while [ "$step" -lt "$steps" ]; do
        sleep "$pause"
        is_mine "$directory" || { echo "superseded" >>"$directory/log"; exit 0; }
        step=$((step + 1))
        echo "step $step ranks=$SLURM_NTASKS time=$EPOCHREALTIME" >>"$directory/log"
        if [ "$asked" = 0 ]; then
            since_save=$((since_save + 1))
            # as every training does now and then, in case a node fails
            if [ "$manner" = again ] && [ $since_save -ge 20 ] && save "$checkpoint" "$step"; then
                echo "save $step time=$EPOCHREALTIME" >>"$directory/log"
                since_save=0
            fi
            continue
        fi
        [ "$manner" = die ] && exit 9
        asked=0
        if ! save "$checkpoint" "$step"; then
            echo "save failed at $step: training continues" >>"$directory/log"
            continue
        fi
        echo "save $step time=$EPOCHREALTIME" >>"$directory/log"
        # Slurm takes the job down meanwhile; if not, it continues. Without the step's output: a sleep that is
        # started while Slurm kills the step would hold it open for a minute (doc/slurm.md).
        if scontrol requeue incomplete "$(me)" >>"$directory/log" 2>&1; then sleep 150 >/dev/null 2>&1; else asked=1; fi
    done
    echo "end step=$step time=$EPOCHREALTIME" >>"$directory/log"
    touch "$directory/done"
}

if [ "${SLURM_PROCID:-}" != "" ] && [ "${1:-}" = --worker ]; then
    shift
    worker "$@"
    exit
fi
directory=$1${SLURM_ARRAY_TASK_ID:+/$SLURM_ARRAY_TASK_ID} steps=$2 pause=$(awk "BEGIN { print $3 / 1000 }") manner=${4:-save}
mkdir -p "$directory"
# one task per GPU, whatever the size
if [ "$manner" = again ]; then
    srun --kill-on-bad-exit "$0" --worker "$directory" "$steps" "$pause" "$manner" && exit
    [ -e "$directory/done" ] && exit
    sleep 2
    scontrol requeue incomplete "$(me)"
    sleep 60 # until Slurm takes the script down
fi
srun "$0" --worker "$directory" "$steps" "$pause" "$manner"
