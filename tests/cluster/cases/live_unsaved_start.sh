# SPDX-License-Identifier: BSD-3-Clause
# seconds: 400
# slurmctld is killed before it has saved an extension (doc/live.md, "Crash points"). The next slurmctld reads the
# state from before the extension was submitted, and does not know it. The base does each step once and in order, is
# never restarted, and grows again; a node that Slurm drains for the unknown job is resumed here.
. "$here/live.sh"
user=nobody directory=$work/live_unsaved_start
own_directory
set_yaml "$(sed 's/^back_off_s: .*/back_off_s: 3/' "$dir/malleable.yaml")
resize: live"
name=unsaved # of this case alone: slurmctld's state keeps the jobs of earlier cases for MinJobAge
cd "$directory" || fail "no directory"
blocker=$(rigid 15 600 --nodes=4 --no-requeue)
wait_for 30 "start of the rigid job" is_state "$blocker" RUNNING
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J "$name" --malleable=1:2 -o "$directory/base" \
    --wrap "srun -n \$SLURM_NTASKS $live 100000 200") || fail "sbatch refused the base"
wait_for 40 "one rank" base_has 1
touch "$directory/started"
wait_for 30 "slurmctld's saved state" test "$dir/state/job_state" -nt "$directory/started"
cp -a "$dir/state" "$work/before" || fail "no copy of the state"
grep -aqF "$name+1" "$work/before/job_state" && fail "the state has an extension already"
timeout 10 scancel "$blocker"
wait_for 60 "two ranks" base_has 2
extension=$(timeout 5 squeue -h -o '%i %j' | sed -n "s/^\([0-9]*\) $name+.*/\1/p")
[ -n "$extension" ] || fail "no extension"

kill_slurmctld
injected "slurmctld killed before it saved an extension"
rm -rf "${dir:?}/state" && cp -a "$work/before" "$dir/state" || fail "the state is not put back"
start_slurmctld
timeout 10 scancel "$blocker" # it runs in the old state
has_one_again() { # resumes what Slurm drained meanwhile
    timeout 10 sinfo -h -N -t drain,down -o '%N %E' | sort -u >"$work/drained"
    [ ! -s "$work/drained" ] || sed 's/^/# drained: /' "$work/drained"
    cut -d ' ' -f 1 "$work/drained" | xargs -r -I{} timeout 10 scontrol update nodename={} state=resume
    grep -q 'ranks 1 ' <(tail -n "+$mark" "$directory/base")
}
mark=$(($(wc -l <"$directory/base") + 1))
wait_for 90 "the base alone: Slurm ended the unknown extension" has_one_again
grew_again() { has_one_again && base_has 2; }
wait_for 120 "two ranks again" grew_again
check_never_restarted
as_user scancel "$base"
wait_for 40 "end of all" no_jobs
check_each_step_once 20 100000
