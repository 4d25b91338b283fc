# SPDX-License-Identifier: BSD-3-Clause
# alone: MASTER_PORT comes from the number of the job, and that of each cluster's first job is 1
#
# seconds: 400
# As live_torch, with a model of fully_shard(): 1 to 4 GPUs by extensions, and GPUs given back to a rigid job.
. "$here/live_torch.sh"
directory=$work/torch
rank_program 16 "$package/tests/train_torch.py fsdp 0.1 0 16"
grow_and_give_back
