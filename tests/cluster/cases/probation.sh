# SPDX-License-Identifier: BSD-3-Clause
# A program that cannot run at a size fails there once: the job returns to its previous size, completes, and
# is not asked for that size again, even by a slurmctld that was killed meanwhile. A program that is broken
# ends as FAILED.
directory=$work/probation
mkdir -p "$directory"
reasons() { "$(dirname "$plugins")/ringstat" explain "$job"; }
explained() { reasons | grep -q "$1"; }
has_range() { timeout 10 scontrol -o show job "$job" | grep -q "malleable/1 $1 "; }
starts_are() { [ "$(starts)" = "$1" ]; }

# ---- too large: with 4 ranks it exits with 1 ---------------------------------------------------------
cat >"$directory/rank" <<RANK
#!/bin/bash
[ "\$SLURM_NTASKS" -lt 4 ] || exit 1
exec "$plain_job" --worker "\$@"
RANK
printf '#!/bin/bash\nexec srun "%s/rank" "%s" 400 0.1 save\n' "$directory" "$directory" >"$directory/script"
chmod 755 "$directory/rank" "$directory/script"
blocker=$(rigid 14 300 -N4) # 2 GPUs of one node are left
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
job=$(timeout 20 sbatch --parsable -J probation -o "$directory/out" --malleable=1:4 "$directory/script") || fail "sbatch refused it"
wait_for 30 "start with 2" runs_with "$job" 2
wait_for 20 "steps" has_steps 5
before=$(starts) # 1, or 2 if it was submitted before ringrtd had recorded what is free
scancel "$blocker"
wait_for 40 "failure with 4" grep -q "failed with exit code 1 soon after its restart with 4 GPUs: requeued to restart with 2" \
    "$dir/log/malleable_events.jsonl"
wait_for 60 "second start with 2" starts_are $((before + 1))
wait_for 20 "its new range" has_range "min=1 max=2"
sleep 6 # that is in the saved state
kill_slurmctld
start_slurmctld
wait_for 20 "word of it" explained "no more than 2 GPUs because it failed soon after its restart with 4"
wait_for 120 "its end" is_state "$job" COMPLETED
asked_for_4() { grep -c "\"job\":$job,\"event\":\"asked\",\"from\":2,\"to\":4," "$dir/log/malleable_events.jsonl"; }
[ "$(asked_for_4)" = 1 ] || fail "it was asked $(asked_for_4) times for 4"
starts_are $((before + 1)) || fail "it started $(starts) times"
check_steps

# ---- too small: a step with --gpus of its own is refused ---------------------------------------------
directory=$work/probation_small
mkdir -p "$directory"
printf '#!/bin/bash\nexec srun -n4 --gpus=4 "%s" --worker "%s" 100000 0.1 save\n' "$plain_job" "$directory" >"$directory/script"
chmod 755 "$directory/script"
job=$(timeout 20 sbatch --parsable -J probation_small -o "$directory/out" --malleable=1:4 "$directory/script") || fail "sbatch refused it"
wait_for 30 "start with 4" runs_with "$job" 4
wait_for 20 "steps" has_steps 5
guest=$(rigid 14 300)
wait_for 40 "start of the rigid job" is_state "$guest" RUNNING
wait_for 60 "its failure with fewer" has_range "min=4 max=4"
scancel "$guest"
wait_for 60 "second start with 4" starts_are 2
runs_with "$job" 4 || fail "it does not run with 4"
check_steps
clear_jobs

# ---- broken: it fails wherever it runs ------------------------------------------------------------------
directory=$work/probation_broken
mkdir -p "$directory"
printf '#!/bin/bash\nsrun bash -c "[ ! -e %s/broken ]" || exit 3\nexec "%s" "%s" 100000 100\n' "$directory" "$plain_job" "$directory" >"$directory/script"
chmod 755 "$directory/script"
job=$(timeout 20 sbatch --parsable -J probation_broken -o "$directory/out" --malleable=4:8 --gpus=8 "$directory/script") || fail "sbatch refused it"
wait_for 30 "start with 8" runs_with "$job" 8
wait_for 20 "steps" has_steps 5
touch "$directory/broken"
guest=$(rigid 12 300)
wait_for 40 "start of the rigid job" is_state "$guest" RUNNING
wait_for 60 "its failure with 4" has_range "min=8 max=8"
scancel "$guest"
wait_for 60 "its end" is_state "$job" FAILED
sleep 5
is_state "$job" FAILED || fail "it is $(state_of "$job")"
timeout 10 scontrol -o show job "$job" | grep -q 'Restarts=2 ' || fail "$(timeout 10 scontrol -o show job "$job" | grep -o 'Restarts=[0-9]*')"
