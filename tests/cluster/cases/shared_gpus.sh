# SPDX-License-Identifier: BSD-3-Clause
# GPUs that Slurm divides among jobs (gres/shard, gres/mps). A rigid job that waits for a part of a GPU gets a
# borrowed one back, and further jobs use the same one. A malleable job does not grow onto GPUs that are in
# use that way, and has whole GPUs itself.
# seconds: 400
user=nobody
submit() { as_user timeout 20 sbatch --parsable -o /dev/null "$@" --wrap 'sleep 300'; }
asked() { grep -c "\"job\":$job,\"event\":\"asked\"" "$dir/log/malleable_events.jsonl"; }
refused() { # EXPECTED SBATCH_OPTIONS...
    local said expected=$1
    shift
    said=$(timeout 20 sbatch -o /dev/null "$@" --malleable=1:8 --wrap true 2>&1) && fail "accepted: $*"
    grep -qF -- "$expected" <<<"$said" || fail "$* said: ${said:0:300}"
}

shared() { # KIND PER_GPU
    local kind=$1 per_gpu=$2 guest guest2 guest3 before
    second_cluster --nodes 2 --gres "$kind:$((4 * per_gpu))"
    refused "--malleable: leave out $kind:1: it has whole GPUs" --gres="$kind:1"

    start_job "$kind" --malleable=1:8 -- 100000 100
    wait_for 40 "start with 8 GPUs" runs_with "$job" 8
    wait_for 20 "ten steps" has_steps 10
    guest=$(submit --gres="$kind:$((per_gpu / 2))") || fail "sbatch refused it"
    wait_for 40 "start of the job with half a GPU" is_state "$guest" RUNNING
    wait_for 40 "the malleable job with 4 GPUs" runs_with "$job" 4
    before=$(asked)

    # The other half. For a whole GPU of shards others are idle. MPS is on one GPU of a node, so a job that needs
    # more would get one of the other node's GPUs.
    guest2=$(submit --gres="$kind:$((per_gpu / 2))") || fail "sbatch refused it"
    wait_for 20 "start of the second" is_state "$guest2" RUNNING
    guest3=
    if [ "$kind" = shard ]; then
        guest3=$(submit --gres="$kind:$per_gpu") || fail "sbatch refused it"
        wait_for 20 "start of the third" is_state "$guest3" RUNNING
    fi
    sleep 8
    [ "$(asked)" = "$before" ] || fail "it was asked to resize again"
    runs_with "$job" 4 || fail "it has $(gpus_of "$job") GPUs beside GPUs that are shared"

    # More than a GPU has: no GPU is returned for it.
    scancel "$guest" "$guest2" ${guest3:+"$guest3"}
    wait_for 90 "growth to 8 GPUs" runs_with "$job" 8
    before=$(asked)
    submit --gres="$kind:$((2 * per_gpu))" >/dev/null 2>&1
    sleep 8
    [ "$(asked)" = "$before" ] || fail "it was asked for a job that could not start"
    check_steps
    clear_jobs
    "$cluster" stop "$dir"
}
cp "$dir/malleable.yaml" "$work/malleable.yaml"
shared shard 4
shared mps 100
