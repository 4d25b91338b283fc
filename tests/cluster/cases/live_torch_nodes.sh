# SPDX-License-Identifier: BSD-3-Clause
# alone: MASTER_PORT comes from the number of the job, and that of each cluster's first job is 1
#
# seconds: 400
# live_torch over nodes: one GPU is free on each of two nodes, so the training's extension is on another node
# than its base, and the state is sent over TCP. A rigid job gets the extension's GPU.
. "$here/live_torch.sh"
directory=$work/torch_nodes
rank_program 20
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
for where in "n1 3" "n2 3" "n3 4" "n4 4"; do
    read -r node gpus <<<"$where"
    id=$(rigid "$gpus" 600 -w "$node" --nodes=1 --gpus-per-node="$gpus")
    wait_for 20 "start of a rigid job on $node" is_state "$id" RUNNING
done
submit_live 1:4 -J train
node_of() { timeout 5 squeue -h -t RUNNING -n "$1" -o %N; }
grown 2
base=$(node_of train) extension=$(node_of train+1)
[[ "$base $extension" =~ ^n[12]\ n[12]$ ]] && [ "$base" != "$extension" ] || fail "the base is on $base, its extension on $extension"
guest=$(rigid 1 10 -w "$extension")
wait_for 60 "a GPU given back" is_state "$guest" "RUNNING COMPLETED"
check_training 300
[[ "$(sizes)" == "2 1 "* ]] || fail "the sizes were $(sizes)"
