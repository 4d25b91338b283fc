# SPDX-License-Identifier: BSD-3-Clause
# Resizing in place while gradients are summed during the backward pass (doc/live.md): extension jobs join a
# real training of two GPUs, leave it by the signal, and are killed. The base never stops. Each step is done
# once, each image is used once an epoch, and the losses are those of one rank alone.
. "$here/live.sh"
need_digits
user=nobody directory=$work/live_gradients steps=440
own_directory
options="--data=$data --epochs=20 --device-ms-per-sample=1"
submit() { # NAME GPUS [VARIABLE=VALUE]
    as_user env RINGRT_CHECKPOINT_DIR="$directory/checkpoints" "${@:3}" sbatch --parsable -J "$1" --gpus="$2" --ntasks="$2" --no-requeue \
        -o "$directory/$1" --wrap "exec srun $digits $options --live-resize --loss-csv=$directory/steps.csv --json=$directory/summary"
}
last_has() { [ "$(tail -n 1 "$directory/steps.csv" 2>/dev/null | cut -d, -f4)" = "$1" ]; }
grow() { # NAME GPUS GPUS-IN-ALL: sets $extension
    extension=$(submit "$1" "$2" RINGRT_EXTENDS="$base") || fail "sbatch refused $1"
    wait_for 30 "$3 GPUs" last_has "$3"
}

base=$(submit base 2) || fail "sbatch refused the base"
wait_for 30 "steps of the base" last_has 2
grow first 2 4
as_user scancel -s URG "$extension"
wait_for 20 "two GPUs: the first left by the signal" last_has 2
wait_for 20 "its end" is_state "$extension" COMPLETED
grow second 3 5
kill_first_rank "$extension"
wait_for 20 "two GPUs: the second was killed" last_has 2
grow third 1 3
wait_for 90 "end of the base" is_state "$base" COMPLETED
check_never_restarted
grep -q '"samples_lost": 0, "samples_duplicated": 0' "$directory/summary" || fail "samples: $(cat "$directory/summary")"
# shellcheck disable=SC2086
(cd "$work" && env -u SLURM_JOB_ID "$digits" $options --device-ms-per-sample=0 --loss-csv="$work/alone.csv") >"$work/alone.out" || fail "one rank alone failed"
awk -F, -v steps=$steps 'FNR == 1 { next } NR == FNR { loss[$1] = $3; next } $1 != ++last { bad = 1 }
    { d = loss[$1] - $3; s = $3 > 0.01 ? $3 : 0.01; if (d * d > 1e-8 * s * s) bad = 1 } END { exit bad || last != steps }' \
    "$work/alone.csv" "$directory/steps.csv" || fail "steps were lost or done twice, or have other losses"
