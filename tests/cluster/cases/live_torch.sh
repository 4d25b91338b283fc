# SPDX-License-Identifier: BSD-3-Clause
# alone: MASTER_PORT comes from the number of the job, and that of each cluster's first job is 1
#
# seconds: 400
# ringrt.torch.malleable() resized in place (doc/live.md) with the real torch on a real Slurm. It grows by
# extension jobs from 1 GPU to 4 while it is alone on the cluster, and gives GPUs back when a rigid job is
# pending. Its base is never restarted.
. "$here/live_torch.sh"
directory=$work/torch
rank_program 16
grow_and_give_back
