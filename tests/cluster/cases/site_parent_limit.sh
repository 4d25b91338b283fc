# SPDX-License-Identifier: BSD-3-Clause
# The account above alice's and carol's is limited to 4 GPUs, of which carol has 2. A job of 1 to 8 starts
# with the 2 that are left, though more are free, and is not asked to grow. carol's job ends, and it grows to
# 4.
. "$here/site.sh"
site_up
waits_at() { timeout 10 squeue -h -j "$1" -o %r | grep -q "$2"; }
sacctmgr -i add account science >>"$work/sacctmgr" && limit account physics set parent=science && limit account chem set parent=science
limit account science set GrpTRES=gres/gpu=4
others=$(user_rigid carol 600 --gpus=2 --nodes=1)
wait_for 30 "start of carol's job" is_state "$others" RUNNING
user_job alice train --malleable=1:8 -- 100000 100
wait_for 60 "run with 2" runs_with "$job" 2
sleep 6
runs_with "$job" 2 || fail "it does not run with 2"
has_event "$job" asked && fail "it was asked to leave for a size above the limit"
has_event "$job" downsized && fail "it was released with a size above the limit"
as carol scancel "$others"
wait_for 90 "run with 4 once carol's job has ended" runs_with "$job" 4
check_steps

# dave's job, in chem as carol's was, waits at science's limit: alice's job gives back what dave's lacks
# there.
waiting=$(user_rigid dave 600 --gpus=2 --nodes=1)
wait_for 20 "wait at the limit of the account above" waits_at "$waiting" AssocGrpGRES
wait_for 60 "start of dave's job" is_state "$waiting" RUNNING
wait_for 60 "run with 2 at the same time" runs_with "$job" 2
check_steps
