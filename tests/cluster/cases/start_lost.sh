# SPDX-License-Identifier: BSD-3-Clause
# slurmctld is killed while a resized job's script is just starting, and the script fails, as when srun asks
# for its allocation at that moment ("Unable to confirm allocation"). The job is started again. A job whose
# script fails again returns to its previous size, and ends as FAILED if it fails there too.
make_script() { # NAME: sets $directory
    directory=$work/$1
    mkdir -p "$directory"
    cat >"$directory/script" <<SCRIPT
#!/bin/bash
runs=\$(ls "$directory"/run.* 2>/dev/null | wc -l)
touch "$directory/run.\$runs"
if [ \$runs -ge 1 ] && [ \$runs -le "\$(cat "$directory/losses")" ]; then
    until [ -e "$directory/away" ]; do sleep 0.1; done
    exit 1
fi
exec "$plain_job" "$directory" 100000 100
SCRIPT
    chmod 755 "$directory/script"
}
runs() { find "$directory" -name 'run.*' | wc -l; }
has_runs() { [ "$(runs)" = "$1" ]; }
lose_start() { # LOSSES: how many starts of the script fail
    make_script "start_lost$1"
    echo "$1" >"$directory/losses"
    job=$(timeout 20 sbatch --parsable -J start_lost -o "$directory/out" --malleable=1:16 --gpus=16 "$directory/script") || fail "sbatch refused it"
    wait_for 30 "start" runs_with "$job" 16
    wait_for 10 "steps" has_steps 5
    sleep 6 # the running job is in the saved state
    guest=$(rigid 8 300 -N2)
    wait_for 60 "second start" has_runs 2
    sleep 6 # and so is the second start
    kill_slurmctld
    touch "$directory/away"
    sleep 2
    start_slurmctld
}

lose_start 1
wait_for 120 "third start" has_runs 3
wait_for 60 "8 GPUs" runs_with "$job" 8
has_event "$job" requeued || fail "no event"
grep -q 'its script failed at its start while slurmctld was down' "$dir/log/malleable_events.jsonl" || fail "not told why"
check_steps
clear_jobs

lose_start 9
wait_for 120 "third start" has_runs 3
wait_for 60 "its way back to 16" grep -q "failed with exit code 1 soon after its restart with 8 GPUs" "$dir/log/malleable_events.jsonl"
scancel "$guest"
wait_for 120 "fourth start" has_runs 4
wait_for 60 "its end" is_state "$job" FAILED
sleep 5
has_runs 4 && is_state "$job" FAILED || fail "it is $(state_of "$job") after $(runs) starts"
