# SPDX-License-Identifier: BSD-3-Clause
# A SPANK plugin that cannot be loaded (it is not a library). With the shipped `optional` line jobs run and no
# node drains (F32). Slurm's loader refuses a plugin built for another Slurm the same way.
out=$work/spank
count=0
printf 'not a library' >"$work/nonsense.so"
# The plugin contains the version that Slurm compares as a number.
"$cluster" start --dir "$out" --nodes 1 --plugin-dir "$plugins" --malleable >/dev/null || fail "no cluster"
trap '"$cluster" stop "$out"' EXIT
for plugin in nonsense.so; do
    echo "optional $work/$plugin" >"$out/plugstack.conf"
    "$cluster" exec "$out" timeout 60 sbatch -W -o "$work/spank.$plugin" --wrap 'srun echo it ran' >"$work/said" 2>&1 ||
        fail "$plugin: the job did not run: $(tail -2 "$work/said")"
    grep -q 'it ran' "$work/spank.$plugin" || fail "$plugin: the step did not run"
    state=$("$cluster" exec "$out" sinfo -h -o %t)
    [[ $state == idle* || $state == comp* || $state == mix* ]] || fail "$plugin: the node is $state"
    count=$((count + 1))
done
injected $count
