# SPDX-License-Identifier: BSD-3-Clause
# Under proctrack/cgroup Slurm's signal reaches only the tasks (here a shell), and no rank below them: `srun
# bash -c`, torchrun, conda run. The ranks are asked over the channel.
. "$here/below_script.sh"
pair=$("$cluster" start --cgroup --plugin-dir "$plugins" --malleable --host "$host" --yaml "$dir/malleable.yaml" 2>"$work/pair.err")
case $? in
0) ;;
77) skip "$(tail -n 1 "$work/pair.err")" ;;
*) cat "$work/pair.err"; fail "no second cluster" ;;
esac
ended() { "$cluster" stop "$pair"; exit "$1"; }
trap 'ended $?' EXIT
dir=$pair
. "$dir/env"

# A command after the program keeps the shell from exec'ing it.
resize_below script "bash -c '\"\$@\"; exit \$?' - $digits"
grep -q 'freezer:/slurm' "$directory/cgroup" || fail "the job is in no cgroup of Slurm's: $(cat "$directory/cgroup")"
