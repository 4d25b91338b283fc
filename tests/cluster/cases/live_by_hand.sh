# SPDX-License-Identifier: BSD-3-Clause
# Resizing in place on a real Slurm, started by hand by an ordinary user (doc/live.md). Extension jobs join a
# base job and leave it by a signal, by scancel and by kill -9 of a rank. The base never stops. Each step is
# done once and in order.
. "$here/live.sh"
user=nobody directory=$work/live steps=600
own_directory
submit() { # NAME GPUS [VARIABLE=VALUE]
    as_user env RINGRT_CHECKPOINT_DIR="$directory/checkpoints" "${@:3}" sbatch --parsable -J "$1" --gpus="$2" --ntasks="$2" --no-requeue \
        -o "$directory/$1" --wrap "exec srun $live $steps 200"
}
longest_ms() { # the longest time between two steps, by the reader's clock
    awk '{ gap = $1 - was; if (was && gap > most) most = gap; was = $1 } END { printf "%.0f", 1000 * most }' "$directory/clock"
}

base=$(submit base 2) || fail "sbatch refused the base"
wait_for 30 "steps of the base" base_has 2
tail -n +1 -f "$directory/base" | while IFS= read -r line; do [[ $line != step* ]] || echo "$EPOCHREALTIME $line"; done >"$directory/clock" &
reader=$!
trap 'kill $reader 2>/dev/null; scancel_all' EXIT
grow() { # NAME GPUS RANKS: sets $extension
    extension=$(submit "$1" "$2" RINGRT_EXTENDS="$base") || fail "sbatch refused $1"
    wait_for 30 "$3 ranks" base_has "$3"
}

grow first 2 4
grow second 4 8
as_user scancel -s URG "$extension"
wait_for 20 "four ranks: the second left by the signal" base_has 4
wait_for 20 "its end" is_state "$extension" COMPLETED
grep -q '^left' "$directory/second" || fail "it did not leave: $(tail -n 3 "$directory/second")"

grow third 3 7
as_user scancel "$extension"
wait_for 20 "four ranks: the third was cancelled" base_has 4

grow fourth 4 8
kill_first_rank "$extension"
wait_for 20 "four ranks: the fourth was killed" base_has 4
wait_for 60 "end of the base" is_state "$base" COMPLETED
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted
note "measured: longest time between two steps $(longest_ms) ms, of which a step of two ranks has 100"
