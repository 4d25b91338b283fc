# SPDX-License-Identifier: BSD-3-Clause
# Resizing in place with state that is divided by rows (doc/live.md). By the controller, a training grows from
# one GPU to four and shrinks for a rigid job: each step is done once. By hand, a rank of an extension is
# killed: the base returns to its newest checkpoint without a restart, or to a copy in its memory. Weights are
# those of one rank alone.
. "$here/live.sh"
live=$(dirname "$plugins")/live_rows
[ -x "$live" ] || skip "live_rows is not built"
user=nobody steps=300
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
directory=$work/rows_grow
own_directory
cd "$directory" || fail "no directory"
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=1:4 -o "$directory/base" --wrap "srun -n \$SLURM_NTASKS $live $steps 200") ||
    fail "sbatch refused the base"
wait_for 30 "steps of the base" base_has 1
wait_for 40 "four ranks" base_has 4
rigid=$(rigid 12 4 --nodes=4 --gpus-per-node=3)
wait_for 20 "three GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
wait_for 60 "end of the base" is_state "$base" COMPLETED
wait_for 20 "end of its extensions" no_jobs
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted

# A base of two ranks loses an extension of three, trains to its end, and has the right weights.
lose_extension() { # DIRECTORY VARIABLE=VALUE…
    rm -r "$work/alone"
    directory=$1
    own_directory
    submit() { # NAME GPUS [VARIABLE=VALUE]
        as_user env "${variables[@]}" RINGRT_CHECKPOINT_DIR="$directory/checkpoints" "${@:3}" sbatch --parsable -J "$1" --gpus="$2" \
            --ntasks="$2" --no-requeue -o "$directory/$1" --wrap "exec srun $live $steps 200"
    }
    variables=("${@:2}")
    base=$(submit base 2) || fail "sbatch refused the base"
    wait_for 30 "steps of the base" base_has 2
    extension=$(submit first 3 RINGRT_EXTENDS="$base") || fail "sbatch refused the extension"
    wait_for 30 "five ranks" base_has 5
    kill_first_rank "$extension"
    wait_for 20 "two ranks: one of the extension was killed" base_has 2
    wait_for 90 "end of the base" is_state "$base" COMPLETED
    check_never_restarted
    check_weights $steps
}
check_went_back() { # MOST: steps, once
    awk -v steps=$steps -v most="$1" '$1 == "step" { if ($2 != last + 1) { back++; if ($2 > last || last - $2 >= most) bad = 1 } last = $2 }
        END { exit bad || back > 1 || last != steps }' "$directory/base" || fail "steps were left out, or the base went back too far or twice"
}
lose_extension "$work/rows_killed" RINGRT_SAVE_INTERVAL_S=1
grep -A1 'a lost rank had rows: going back' "$directory/base" | grep -q 'resumed from step [0-9]* on 2 GPUs' || fail "no checkpoint was loaded in place"
check_went_back $steps

lose_extension "$work/rows_copied" RINGRT_SAVE_INTERVAL_S=600 RINGRT_LIVE_COPY_STEPS=5
grep -q 'a lost rank had rows: going back' "$directory/base" && fail "a checkpoint was loaded"
grep -q 'an extension was lost: continuing from step [0-9]* with 2 ranks' "$directory/base" || fail "no copy was used"
check_went_back 5
