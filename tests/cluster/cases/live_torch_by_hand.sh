# SPDX-License-Identifier: BSD-3-Clause
# alone: MASTER_PORT comes from the number of the job, and that of each cluster's first job is 1
#
# seconds: 400
# ringrt.torch.malleable() with the real torch, and extensions started by hand on other nodes. The lower of
# two extensions is signalled to leave, and the upper one rejoins without help. The base never stops.
. "$here/live_torch.sh"
directory=$work/torch_by_hand
rank_program 14
# Without --malleable, this sets what malleable.so sets in the steps of a malleable job.
by_hand() { # NODE GPUS OUTPUT [VARIABLE=VALUE]: prints the job's number
    own_port
    timeout 20 env RINGRT_CHECKPOINT_DIR="$directory/ckpt" RINGRT_LIVE_RESIZE=1 MASTER_ADDR=127.0.0.1 "${@:4}" \
        sbatch --parsable -w "$1" --gpus="$2" --ntasks="$2" --no-requeue --chdir="$directory" --output="$directory/$3" --export=ALL \
        --wrap "exec srun --kill-on-bad-exit sh -c 'RINGRT_MALLEABLE=1:4 RANK=\$SLURM_PROCID WORLD_SIZE=\$SLURM_NTASKS exec $directory/rank'" ||
        fail "sbatch refused it"
}
job=$(by_hand n1 1 out)
wait_for 60 "steps of the base" test -s "$directory/seen.0.0"
lower=$(by_hand n2 1 lower RINGRT_EXTENDS="$job")
wait_for 90 "2 ranks" last_size 2
upper=$(by_hand n3 2 upper RINGRT_EXTENDS="$job")
wait_for 90 "4 ranks" last_size 4
scancel -s URG "$lower"
wait_for 60 "end of the lower one" is_state "$lower" COMPLETED
grown 3
[ "$(sizes)" = "2 4 1 3 " ] || fail "the sizes were $(sizes)"
check_training 300
wait_for 30 "end of the upper one" is_state "$upper" COMPLETED
