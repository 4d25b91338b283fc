# SPDX-License-Identifier: BSD-3-Clause
# On a partly uninstalled site a malleable job never runs without a GPU silently. One script serves clusters
# with the plugin and without it.
cat >"$work/portable.sh" <<'SCRIPT'
#!/bin/bash
#SBATCH --gpus=2
#SBATCH --open-mode=append
echo "range=${RINGRT_MALLEABLE:-none} gpus=$SLURM_GPUS_ON_NODE devices=$CUDA_VISIBLE_DEVICES"
SCRIPT
printf '#!/bin/bash\n#SBATCH --malleable=2:8\necho "gpus=$SLURM_GPUS_ON_NODE"\n' >"$work/flagged.sh"
out=$work/half
trap '"$cluster" stop "$out"' EXIT
run_there() { # SCRIPT: prints its output; SBATCH_MALLEABLE is the range
    rm -f "$work/said"
    SBATCH_MALLEABLE=1:8 "$cluster" exec "$out" timeout 60 sbatch --wait -o "$work/said" "$1" 2>&1
    cat "$work/said"
}

# ---- installed: the variable is the option ----
said=$(SBATCH_MALLEABLE=1:8 timeout 60 sbatch --wait -o "$work/said" "$work/portable.sh" 2>&1; cat "$work/said")
grep -q 'range=1:8 gpus=[248]' <<<"$said" || fail "with the plugin: $said"

# ---- SPANK is still installed, job_submit is not ----
"$cluster" start --dir "$out" --nodes 1 --plugin-dir "$plugins" --no-malleable \
    --conf "PlugStackConfig=$out/plugstack.conf" >/dev/null || fail "no cluster"
echo "optional $plugins/malleable.so" >"$out/plugstack.conf"
for submit in "$work/flagged.sh" "--malleable=2:8 --wrap true"; do
    # shellcheck disable=SC2086 # two words
    said=$("$cluster" exec "$out" timeout 20 sbatch -o /dev/null $submit 2>&1) && fail "accepted: $submit"
    grep -q 'does not support malleable jobs (JobSubmitPlugins in slurm.conf lacks malleable): use --gpus=N' <<<"$said" ||
        fail "said: $said"
    [ "$(wc -l <<<"$said")" = 1 ] || fail "more than one line: $said"
done
said=$(run_there "$work/portable.sh")
grep -q 'SBATCH_MALLEABLE is ignored' <<<"$said" || fail "no word of the variable: $said"
grep -q 'range=none gpus=2 devices=[0-9],[0-9]' <<<"$said" || fail "without job_submit: $said"
said=$("$cluster" exec "$out" timeout 60 sbatch --wait -o "$work/rigid" --gpus=1 --wrap 'echo it ran' 2>&1)
grep -q 'it ran' "$work/rigid" || fail "a rigid job: $said"
[ "$(wc -l <<<"$said")" = 1 ] || fail "a rigid job hears of it: $said"

# ---- neither is installed ----
rm "$out/plugstack.conf"
: >"$out/plugstack.conf"
said=$(run_there "$work/portable.sh")
grep -q 'range=none gpus=2 devices=[0-9],[0-9]' <<<"$said" || fail "on stock Slurm: $said"
"$cluster" exec "$out" timeout 20 sbatch "$work/flagged.sh" >"$work/refused" 2>&1 && fail "stock sbatch took the option"
note "stock sbatch says: $(head -1 "$work/refused")"
