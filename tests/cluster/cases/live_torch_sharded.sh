# SPDX-License-Identifier: BSD-3-Clause
#
# seconds: 400
# As live_torch, with a model of fully_shard(): 1 to 4 GPUs by extensions, and GPUs given back to a rigid job.
. "$here/live_torch.sh"
directory=$work/torch
rank_program 16 "$package/tests/train_torch.py fsdp 0.1 0 16"
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
submit_live 1:4
wait_for 180 "4 ranks" last_size 4
rigid=$(rigid 12 20 --nodes=4 --gpus-per-node=3)
wait_for 60 "GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
check_training 300
