# SPDX-License-Identifier: BSD-3-Clause
# resize: live (doc/live.md) under faults: a rank of an extension is killed, slurmctld is killed with one
# extension and with two, and the base is cancelled. The base does each step once and in order and is never
# restarted. Its extensions end with it.
. "$here/live.sh"
user=nobody directory=$work/live_faults
own_directory
set_yaml "$(sed 's/^back_off_s: .*/back_off_s: 3/' "$dir/malleable.yaml")
resize: live"
extensions() { timeout 5 squeue -h -o '%i %j' | sed -n 's/^\([0-9]*\) train+.*/\1/p' | sort -n; }
has_extensions() { [ "$(extensions | wc -l)" = "$1" ]; }
cd "$directory" || fail "no directory"
# Two GPUs are free. The others become free when slurmctld has saved the base and its first extension. A
# restarted slurmctld does not have a job whose start was not saved: it ends the job, or drains its node
# (24.11: "Duplicate jobid").
blockers=("$(rigid 12 600 --nodes=3 --gpus-per-node=4)" "$(rigid 2 600 --nodes=1 --gpus-per-node=2)")
for job in "${blockers[@]}"; do wait_for 30 "start of a rigid job" is_state "$job" RUNNING; done
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=1:4 -o "$directory/base" --wrap "srun $live 100000 200") ||
    fail "sbatch refused the base"
wait_for 40 "two ranks" base_has 2
touch "$directory/extended"
wait_for 30 "slurmctld's saved state" test "$dir/state/job_state" -nt "$directory/extended"
kill_slurmctld
injected "slurmctld killed with one extension"
start_slurmctld
timeout 10 scancel "${blockers[@]}"
wait_for 60 "four ranks after a restart" base_has 4
wait_for 20 "two extensions" has_extensions 2
has_extensions 2 || fail "not two extensions: $(extensions)"

# Not the last in squeue's order or by number: two that Slurm got together are in any order.
last=$(timeout 5 squeue -h -o '%i %j' | sed -n 's/^\([0-9]*\) train+2$/\1/p')
kill_first_rank "$last"
injected "a rank of the last extension killed"
wait_for 20 "two ranks: one extension was killed" base_has 2
wait_for 40 "four ranks again" base_has 4

before=$(extensions)
touch "$directory/joined"
wait_for 30 "slurmctld's saved state" test "$dir/state/job_state" -nt "$directory/joined"
kill_slurmctld
injected "slurmctld killed with two extensions"
sleep 3
base_has 4 || fail "the training did not go on without slurmctld"
start_slurmctld
sleep 5
[ "$(extensions)" = "$before" ] || fail "other extensions after a restart of slurmctld: $(extensions), were $before"
base_has 4 || fail "$(last_ranks) ranks after a restart of slurmctld"

check_never_restarted
as_user scancel "$base"
injected "the base cancelled"
wait_for 40 "end of all" no_jobs
check_each_step_once 50 100000
[ ! -e "$directory/.ringrt-srun-$base" ] || note "the record of the srun is still there"
