# SPDX-License-Identifier: BSD-3-Clause
#
# seconds: 400
# ringrt.torch.malleable() resized in place (doc/live.md) with the real torch on a real Slurm. It grows by
# extension jobs from 1 GPU to 4 while it is alone on the cluster, and gives GPUs back when a rigid job is
# pending. Its base is never restarted.
. "$here/live_torch.sh"
directory=$work/torch
rank_program 16
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
submit_live 1:4
wait_for 180 "4 ranks" last_size 4
rigid=$(rigid 12 20 --nodes=4 --gpus-per-node=3)
wait_for 60 "GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
check_training 300
