# SPDX-License-Identifier: BSD-3-Clause
# resize: live (doc/live.md) on nodes with two GPU types each: a training that requests one type grows by
# extensions of that type only, and gives them back to a rigid job that waits for it, not to one that waits
# for the other. A training without a type uses both.
# seconds: 600
. "$here/live.sh"
user=nobody steps=600
printf '%s\nresize: live\n' "$(cat "$work/malleable.yaml")" >"$work/live.yaml"
second_cluster --nodes 2 --gpus a100:4+h100:2,a100:2+h100:4 --yaml "$work/live.yaml"
start_base() { # NAME OPTIONS...: sets $base and $directory
    directory=$work/$1
    mkdir -p "$directory" && chown "$user" "$directory"
    base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J "$1" -D "$directory" -o "$directory/base" "${@:2}" \
        --wrap "srun -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused $1"
}
check_end() {
    wait_for 200 "end of the base" is_state "$base" COMPLETED
    wait_for 30 "end of its extensions" no_jobs
    check_each_step_once $steps $steps
    check_never_restarted
}

start_base typed --gpus=a100:1 --malleable=1:4
wait_for 60 "four ranks" base_has 4
squeue -h -o '# %i %j %T %D %b %N'
other=$(rigid h100:4 10 -w n2 -N1)
wait_for 20 "start of a job of the other type" is_state "$other" RUNNING
base_has 4 || fail "it gave GPUs of its type to a job of the other"
guest=$(rigid a100:3 6 -w n1 -N1)
sleep 1
waiting=$(rigid h100:4 1 -w n2 -N1)
wait_for 40 "start of a job of its own type" is_state "$guest" "RUNNING COMPLETED"
wait_for 90 "four ranks again" base_has 4
scancel "$other" "$waiting"
check_end
check_weights $steps

# Six GPUs of each type: eight ranks need both.
start_base untyped --malleable=1:8
wait_for 60 "eight ranks" base_has 8
squeue -h -o '# %i %j %T %D %b %N'
guest=$(rigid h100:4 6 -w n2 -N1)
wait_for 40 "start of a job of one of its types" is_state "$guest" "RUNNING COMPLETED"
wait_for 90 "eight ranks again" base_has 8
check_end
