# SPDX-License-Identifier: BSD-3-Clause
# resize: live (doc/live.md) while things go wrong: a rank of an extension is killed, slurmctld is killed while one is submitted
# and while all have joined, and the base is cancelled. The base does each step once and in order, is never restarted, and its
# extensions end with it.
live=$(dirname "$plugins")/live
[ -x "$live" ] || skip "live is not built"
user=nobody folder=$work/live_faults
mkdir -p "$folder"
chown $user "$folder"
trap 'scancel --user=$user' EXIT
# The second extension comes when slurmctld has saved the base and the first one: a job whose start it has
# not saved is unknown to the next slurmctld, which ends it, or drains its node (24.11: "Duplicate jobid").
set_yaml "$(sed 's/^min_resize_interval_s: .*/min_resize_interval_s: 15/; s/^back_off_s: .*/back_off_s: 3/' "$dir/malleable.yaml")
resize: live"
last() { tail -n 1 "$folder/base" | sed -n 's/^step [0-9]* ranks \([0-9]*\) .*/\1/p'; }
base_has() { [ "$(last)" = "$1" ]; }
extensions() { timeout 5 squeue -h -o '%i %j' | sed -n 's/^\([0-9]*\) train+.*/\1/p'; }
has_extensions() { [ "$(extensions | wc -l)" = "$1" ]; }
cd "$folder" || fail "no folder"
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=1:4 -o "$folder/base" --wrap "srun $live 100000 200") ||
    fail "sbatch refused the base"
wait_for 40 "two ranks" base_has 2
touch "$folder/extended"
wait_for 30 "slurmctld's saved state" test "$dir/state/job_state" -nt "$folder/extended"
wait_for 40 "the second extension" has_extensions 2
kill_slurmctld
injected "slurmctld killed as an extension was submitted"
start_slurmctld
wait_for 60 "four ranks after a restart" base_has 4
has_extensions 2 || fail "not two extensions: $(extensions)"

first=$(extensions | tail -n 1)
node=$(timeout 5 squeue -h -j "$first" -o %N)
kill -KILL "$(timeout 10 scontrol listpids "$first.0" "$node" | awk 'NR > 1 && $4 == 0 { print $1 }')" || fail "no rank to kill"
injected "a rank of the last extension killed"
wait_for 20 "two ranks: one extension was killed" base_has 2
wait_for 40 "four ranks again" base_has 4

before=$(extensions)
touch "$folder/joined"
wait_for 30 "slurmctld's saved state" test "$dir/state/job_state" -nt "$folder/joined"
kill_slurmctld
injected "slurmctld killed with two extensions"
sleep 3
base_has 4 || fail "the training did not go on without slurmctld"
start_slurmctld
sleep 5
[ "$(extensions)" = "$before" ] || fail "other extensions after a restart of slurmctld: $(extensions), were $before"
base_has 4 || fail "$(last) ranks after a restart of slurmctld"

[ "$(timeout 10 scontrol -o show job "$base" | sed -n 's/.* Restarts=\([0-9]*\) .*/\1/p')" = 0 ] || fail "the base was restarted"
as_user scancel "$base"
injected "the base cancelled"
wait_for 40 "end of all" no_jobs
awk '$1 == "step" && $2 != ++n { bad = 1 } END { exit bad || n < 50 }' "$folder/base" || fail "steps lost or done twice"
[ ! -e "$folder/.ringrt-srun-$base" ] || note "the record of the srun is still there"
