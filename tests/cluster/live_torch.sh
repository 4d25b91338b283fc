# SPDX-License-Identifier: BSD-3-Clause
# Shared by the cases of ringrt.torch.malleable() resized in place, which source it: job $job trains in
# $directory.
# shellcheck shell=bash disable=SC2154
. "$here/torch.sh"
need_modules torch
package=$here/../../python
export PYTHONPATH=$package
# An extension repeats the base's srun: each part has a directory for its ranks' records.
rank_program() { # EPOCHS [COMMAND ALONE]: sets $epochs and $alone, makes $directory/rank. ALONE: COMMAND without pauses
    epochs=$1 alone=${3:-"$package/tests/train_torch.py distributed 0 0 $1"}
    local command=${2:-"$package/tests/train_torch.py distributed 0.1 0 $1"}
    mkdir -p "$directory"
    echo 2 >"$directory/break" # the training does not end before it has grown, however long an extension takes to start
    cat >"$directory/rank" <<END
#!/bin/sh
export DIRECTORY=$directory
[ -z "\$RINGRT_EXTENDS" ] || export DIRECTORY=$directory/ext.\$SLURM_JOB_ID
mkdir -p "\$DIRECTORY"
exec $python $command
END
    chmod +x "$directory/rank"
}
submit_live() { # MIN:MAX [OPTION...]: the base of a training that the controller resizes
    job=$(RINGRT_LIVE_RESIZE=1 timeout 20 sbatch --parsable --malleable="$1" --chdir="$directory" --output="$directory/out" --export=ALL "${@:2}" \
        --wrap "export RINGRT_CHECKPOINT_DIR=$directory/ckpt RINGRT_TELEMETRY_S=1; srun -n \$SLURM_NTASKS $directory/rank") || fail "sbatch refused it"
}
sizes() { sed -n 's/.*resized in place at step [0-9]*: \([0-9]*\) ranks.*/\1/p' "$directory/out" | tr '\n' ' '; }
grown() { # RANKS: from then on the training has its own pace
    wait_for 180 "$1 ranks" last_size "$1"
    rm -f "$directory/break"
}
last_size() { [ "$(sizes | awk '{ print $NF }')" = "$1" ]; }
# Over all parts that trained: each sample is in one step of each epoch.
each_sample_in_its_step() {
    cat "$directory"/seen.* "$directory"/ext.*/seen.* | awk -v epochs="$epochs" '
        { steps[$2] = 1; for (i = 3; i <= NF; i++) seen[$1 " " $2 " " $i] = $1 " " $i }
        END { for (s in steps) many++
              for (s in seen) { if (once[seen[s]]++) bad = 1; n++ }
              if (bad || n != 203 * epochs || many != 13 * epochs) { print "# " n " samples, " many " steps"; exit 1 } }' ||
        fail "not each sample once an epoch"
}
# Grows from 1 GPU to 4 by extension jobs while it is alone on the cluster, and gives GPUs back when a rigid job is pending.
grow_and_give_back() {
    set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
    submit_live 1:4
    grown 4
    rigid=$(rigid 12 20 --nodes=4 --gpus-per-node=3)
    wait_for 60 "GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
    check_training 300
}
check_training() { # SECONDS: how long it may still take
    wait_for "$1" "end of the training" is_state "$job" COMPLETED
    [ "$(timeout 10 scontrol -o show job "$job" | sed -n 's/.* Restarts=\([0-9]*\) .*/\1/p')" = 0 ] || fail "the base was restarted"
    each_sample_in_its_step
    note "measured: sizes $(sizes)"
    weights_as_at_fixed_size "$alone"
}
