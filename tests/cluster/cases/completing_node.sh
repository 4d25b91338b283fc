# SPDX-License-Identifier: BSD-3-Clause
# Slurm starts no job on a node while another one is COMPLETING there, and lists a requeued job that completes without
# its GPUs. A job that grows onto them restarts with less, and grows once the other one has ended: that Slurm did not
# start it is no reason to try larger sizes no more.
stubborn() { # OPTIONS...: a job that ends only by SIGKILL, some seconds after it is requeued
    timeout 20 sbatch --parsable -J stubborn -o /dev/null "$@" --wrap "trap '' TERM; srun bash -c 'trap \"\" TERM; while :; do sleep 1; done'"
}
guest=$(stubborn --nodes=4 --gpus-per-node=3 --ntasks=12)
wait_for 30 "start of a rigid job" is_state "$guest" RUNNING
others=$(rigid 3 600 -N3 --gpus-per-node=1 --ntasks=3 --exclude=n1)
wait_for 20 "start of other rigid jobs" is_state "$others" RUNNING
start_job completing --malleable=1:4 -- 100000 100
wait_for 30 "start with the GPU that is left" runs_with "$job" 1
wait_for 20 "ten steps" has_steps 10
timeout 10 scontrol requeuehold "$guest" || fail "no requeue"
wait_for 30 "resize" has_event "$job" asked
is_completing || fail "the other job has ended already"
wait_for 60 "end of the other job's run" is_state "$guest" PENDING
wait_for 60 "growth" runs_with "$job" 4
check_steps
