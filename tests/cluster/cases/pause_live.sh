# SPDX-License-Identifier: BSD-3-Clause
# A training that is resized in place (doc/live.md) has two extensions and is paused: first they leave, then the base
# saves and leaves. It continues with MIN and grows in place again. Its weights are those of one rank alone.
# seconds: 400
. "$here/live.sh"
. "$here/pause.sh"
user=nobody directory=$work/pause_live steps=1500
own_directory
set_yaml "$(sed 's/^back_off_s: .*/back_off_s: 3/' "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
extensions() { timeout 5 squeue -h -o '%i %j' | grep -c ' train+'; }
have_left() { [ "$(extensions)" = 0 ]; }
base=$(as_user env RINGRT_LIVE_RESIZE=1 RINGRT_SAVE_INTERVAL_S=1 sbatch --parsable -J train --malleable=4:16 --malleable-pause \
    --open-mode=append -o "$directory/base" --wrap "srun -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused the base"
job=$base
wait_for 60 "sixteen ranks" base_has 16
submit_short 10
wait_for 90 "pause" is_paused "$base"
have_left || fail "$(extensions) extensions of a paused job"
wait_for 40 "start of the short job" is_state "$short" RUNNING
wait_for 60 "end of the short job" is_state "$short" COMPLETED
runs_again() { is_state "$base" RUNNING && has_field "$base" Restarts 1; }
wait_for 60 "second run" runs_again
wait_for 60 "sixteen ranks again" base_has 16
wait_for 200 "end of the base" is_state "$base" COMPLETED
wait_for 20 "end of its extensions" no_jobs
check_each_step_once $steps $steps
check_weights $steps
