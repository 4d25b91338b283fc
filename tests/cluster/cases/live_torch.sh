# SPDX-License-Identifier: BSD-3-Clause
# seconds: 400
# ringrt.torch.malleable() resized in place (doc/live.md) with the real torch on a real Slurm: it grows by extension jobs from 1
# GPU to 4 while it is alone on the cluster, and gives GPUs back when a rigid job waits. Its base is never restarted.
. "$here/torch.sh"
need_modules torch
package=$here/../../python folder=$work/torch epochs=12
export PYTHONPATH=$package
mkdir -p "$folder"
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
sizes() { sed -n 's/.*resized in place at step [0-9]*: \([0-9]*\) ranks.*/\1/p' "$folder/out" | tr '\n' ' '; }
last_size() { [ "$(sizes | awk '{ print $NF }')" = "$1" ]; }
# Whoever trained with it: each sample in one step of each epoch.
each_sample_in_its_step() {
    cat "$folder"/seen.* "$folder"/ext.*/seen.* | awk -v epochs="$1" '
        { steps[$2] = 1; for (i = 3; i <= NF; i++) seen[$1 " " $2 " " $i] = $1 " " $i }
        END { for (s in steps) many++
              for (s in seen) { if (once[seen[s]]++) bad = 1; n++ }
              if (bad || n != 203 * epochs || many != 13 * epochs) { print "# " n " samples, " many " steps"; exit 1 } }' ||
        fail "not each sample once an epoch"
}

# An extension repeats the base's srun: each part has a folder for what its ranks write down.
cat >"$folder/rank" <<END
#!/bin/sh
export FOLDER=$folder
[ -z "\$RINGRT_EXTENDS" ] || export FOLDER=$folder/ext.\$SLURM_JOB_ID
mkdir -p "\$FOLDER"
exec $python $package/tests/train_torch.py distributed 0.1 0 $epochs
END
chmod +x "$folder/rank"
job=$(RINGRT_LIVE_RESIZE=1 timeout 20 sbatch --parsable --malleable=1:4 --chdir="$folder" --output="$folder/out" --export=ALL \
    --wrap "export RINGRT_CHECKPOINT_DIR=$folder/ckpt RINGRT_TELEMETRY_S=1; srun -n \$SLURM_NTASKS $folder/rank") || fail "sbatch refused it"
wait_for 120 "4 ranks" last_size 4
rigid=$(rigid 12 20 --nodes=4 --gpus-per-node=3)
wait_for 60 "GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
wait_for 300 "end of the training" is_state "$job" COMPLETED
[ "$(timeout 10 scontrol -o show job "$job" | sed -n 's/.* Restarts=\([0-9]*\) .*/\1/p')" = 0 ] || fail "the base was restarted"
each_sample_in_its_step $epochs
note "measured: sizes $(sizes)"
weights_as_at_fixed_size $epochs
