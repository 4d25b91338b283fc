# SPDX-License-Identifier: BSD-3-Clause
# plugstack.conf names a plugin that does not exist. With `optional`, as shipped, jobs run and no node drains
# (F32).
out=$work/bare
sed 's/^optional .*/optional \/nonexistent\/malleable.so/' "$here/../../contrib/packaging/plugstack.conf" >"$work/plugstack"
"$cluster" start --dir "$out" --nodes 1 --plugin-dir "$plugins" --malleable >/dev/null || fail "no cluster"
cp "$work/plugstack" "$out/plugstack.conf"
said=$("$cluster" exec "$out" timeout 30 sbatch -W -o "$work/bare.out" --wrap 'srun echo it ran' 2>&1)
ran=$?
state=$("$cluster" exec "$out" sinfo -h -o %t)
"$cluster" stop "$out"
note "sbatch said: $said"
[ $ran = 0 ] && grep -q 'it ran' "$work/bare.out" || fail "the job did not run"
[ "$state" = idle ] || fail "the node is $state"
