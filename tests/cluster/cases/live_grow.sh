# SPDX-License-Identifier: BSD-3-Clause
# resize: live (doc/live.md): an ordinary user's training of one GPU grows by two extension jobs at once while
# it is alone on the cluster. It gives both back when a rigid job is pending. Its base is never restarted, and
# does each step once and in order.
. "$here/live.sh"
user=nobody directory=$work/live_grow steps=400
own_directory
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=1:4 -o "$directory/base" --wrap "srun -n \$SLURM_NTASKS $live $steps 200") ||
    fail "sbatch refused the base"
wait_for 30 "steps of the base" base_has 1
wait_for 40 "four ranks" base_has 4
told() { grep -q "$1" "$dir/log/malleable_events.jsonl"; }
told 'extensions of 1, 2 GPUs are submitted' || fail "it did not grow by both doublings at once"
squeue -h -o '# %i %j %T %u %b'
[ "$(timeout 5 squeue -h -o %u | sort -u)" = "$user" ] || fail "not the owner's: $(squeue -h -o '%i %u')"
[ "$(timeout 5 squeue -h -o %j | sort | tr '\n' ' ')" = "train train+1 train+2 " ] || fail "their names: $(squeue -h -o %j)"

rigid=$(rigid 12 4 --nodes=4 --gpus-per-node=3)
wait_for 20 "three GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
told 'extensions [0-9]*, [0-9]* are signalled to leave' || fail "they were not asked to leave together"
note "measured: the rigid job waited $(($(date +%s) - $(date +%s -d "$(timeout 5 scontrol -o show job "$rigid" | sed -n 's/.* SubmitTime=\([^ ]*\) .*/\1/p')"))) s at most"
wait_for 60 "end of the base" is_state "$base" COMPLETED
wait_for 20 "end of its extensions" no_jobs
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted
