# SPDX-License-Identifier: BSD-3-Clause
# Sizes that take several nodes but do not fill them: each rank has a GPU of its own. Slurm alone would give six
# GPUs on two nodes as four and two, to three ranks on each.
# seconds: 60

user=nobody
directory=$work/one_gpu_each
mkdir -p "$directory" && chown "$user" "$directory"
trap scancel_all EXIT
for gpus in 6 9 8; do
    id=$(as_user sbatch --parsable --malleable=$gpus:$gpus -o "$directory/$gpus" \
        --wrap 'srun bash -c "echo rank \$SLURMD_NODENAME \$CUDA_VISIBLE_DEVICES"') || fail "sbatch refused $gpus GPUs"
    wait_for 60 "end of the job with $gpus GPUs" is_state "$id" COMPLETED
    [ "$(grep -c '^rank' "$directory/$gpus")" = $gpus ] || fail "$gpus GPUs, but not $gpus ranks: $(grep -c '^rank' "$directory/$gpus")"
    awk '$1 == "rank" { ranks[$2]++; gpus[$2] = split($3, each, ",") }
        END { for (node in ranks) if (ranks[node] != gpus[node]) bad = bad " " node ": " ranks[node] " ranks on " gpus[node] " GPUs"
              if (bad) print "#" bad; exit bad != "" }' "$directory/$gpus" || fail "with $gpus GPUs"
done
