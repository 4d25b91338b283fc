# SPDX-License-Identifier: BSD-3-Clause
# seconds: 400
# The owner requeues a training that has two extensions (doc/live.md, "Crash points"). Their ranks see the loss and
# end, or the controller cancels them: none outlives the base's run. The base starts again from its checkpoint,
# grows by new extensions, and ends with the weights of one rank alone.
. "$here/live.sh"
user=nobody directory=$work/live_requeued steps=500
own_directory
set_yaml "$(sed 's/^back_off_s: .*/back_off_s: 3/' "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
extensions() { timeout 5 squeue -h -o '%i %j' | sed -n 's/^\([0-9]*\) train+.*/\1/p' | sort -n; }
base=$(as_user env RINGRT_LIVE_RESIZE=1 RINGRT_SAVE_INTERVAL_S=1 sbatch --parsable -J train --malleable=1:4 --open-mode=append -o "$directory/base" \
    --wrap "srun -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused the base"
wait_for 40 "four ranks" base_has 4
sleep 2 # a checkpoint
first=$(extensions)
[ "$(wc -l <<<"$first")" = 2 ] || fail "not two extensions: $first"
as_user scontrol requeue "$base" || fail "Slurm refused the requeue"
injected "the base requeued"
have_ended() { ! extensions | grep -qxF "$first"; }
wait_for 60 "end of the extensions of the first run" have_ended
runs_again() { is_state "$base" RUNNING && [ "$(timeout 10 scontrol -o show job "$base" | sed -n 's/.* Restarts=\([0-9]*\) .*/\1/p')" = 1 ]; }
wait_for 60 "second run" runs_again
has_other_extensions() { [ "$(extensions | grep -vcxF "$first")" = 2 ]; }
wait_for 60 "two other extensions" has_other_extensions
wait_for 40 "four ranks again" base_has 4
wait_for 90 "end of the base" is_state "$base" COMPLETED
wait_for 20 "end of its extensions" no_jobs
check_weights $steps
# The second run begins at a checkpoint of the first one.
awk -v steps=$steps '$1 == "step" { if ($2 != last + 1 && (back++ || $2 > last)) bad = 1; last = $2 } END { exit bad || last != steps }' "$directory/base" ||
    fail "steps were left out, or done twice within a run"
