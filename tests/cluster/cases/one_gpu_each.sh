# SPDX-License-Identifier: BSD-3-Clause
# Sizes that take several nodes but do not fill them: each rank has a GPU of its own, and there are as many ranks as
# GPUs. Slurm alone would give six GPUs on two nodes as four and two, to three ranks on each. For 16 GPUs on three nodes
# of six it would start 18 ranks; they take four on each of four nodes.
# seconds: 100
user=nobody
directory=$work/four
mkdir -p "$directory" "$work/six" && chown "$user" "$directory" "$work/six"
trap scancel_all EXIT
ranks='srun bash -c "echo rank \$SLURMD_NODENAME \$CUDA_VISIBLE_DEVICES"'

# Waits for the job; its ranks must have one GPU each, on as many nodes as given.
check_job() {
    local id=$1 gpus=$2 nodes=$3
    wait_for 60 "end of the job with $gpus GPUs" is_state "$id" COMPLETED
    awk -v gpus="$gpus" -v nodes="$nodes" '$1 == "rank" { all++; ranks[$2]++; on[$2] = split($3, each, ",") }
        END { for (node in ranks) { ++count; if (ranks[node] != on[node]) bad = bad " " node ": " ranks[node] " ranks on " on[node] " GPUs" }
              if (all != gpus || count != nodes) bad = bad " " all " ranks on " count " nodes"
              if (bad) print "#" bad; exit bad != "" }' "$directory/$id" || fail "with $gpus GPUs"
}

try() {
    local gpus=$1 nodes=$2 id
    shift 2
    id=$(as_user sbatch --parsable --malleable="$gpus:$gpus" "$@" -o "$directory/%j" --wrap "$ranks") ||
        fail "sbatch refused $gpus GPUs"
    check_job "$id" "$gpus" "$nodes"
}
try 6 2
try 9 3
try 8 2
# Five GPUs would be one on each of five nodes, and there are four nodes.
for odd in 5,4 7,6; do
    sbatch --malleable="${odd%,*}:${odd%,*}" --wrap true 2>&1 |
        grep -q "expected a MIN that at most 4 nodes of .* can share evenly (for example ${odd#*,}), got \"${odd%,*}\"" ||
        fail "${odd%,*} GPUs are not refused"
done
scancel_all

second_cluster --nodes 5 --gpus 6
directory=$work/six
try 16 4
try 16 4 --gpus-per-node=4
try 10 2
