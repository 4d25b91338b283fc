# SPDX-License-Identifier: BSD-3-Clause
# Slurm starts no job on a node while another one is COMPLETING there, and lists a requeued job that completes without
# its GPUs. No job leaves to grow onto them; it grows once the other one has ended.
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
wait_for 10 "a job that is completing" is_completing
while has_event "$job" asked && asked=1 || asked=0; is_completing; do
    [ $asked = 0 ] || fail "it was asked to leave for GPUs of nodes where a job is completing"
    sleep 0.2
done
wait_for 60 "end of the other job's run" is_state "$guest" PENDING
wait_for 60 "growth" runs_with "$job" 4
check_steps
