# SPDX-License-Identifier: BSD-3-Clause
# resize: live (doc/live.md): one GPU is free on each of two nodes, and a training of two grows into them by
# one extension of two nodes. It stays there, and regains all four while a rigid job has taken what is free
# elsewhere.
. "$here/live.sh"
user=nobody directory=$work/live_scattered steps=400
own_directory
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
on() { rigid "$2" 600 -w "$1" --nodes=1 --gpus-per-node="$2"; } # NODE GPUS
for where in "n1 2" "n2 3" "n3 3" "n4 4"; do
    # shellcheck disable=SC2086 # two words
    id=$(on $where)
    wait_for 20 "start of a rigid job on $where" is_state "$id" RUNNING
done
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=2:4 -o "$directory/base" --wrap "srun -n \$SLURM_NTASKS $live $steps 200") ||
    fail "sbatch refused the base"
wait_for 30 "steps of the base" base_has 2
wait_for 40 "four ranks" base_has 4
squeue -h -o '# %i %j %T %D %b %N'
[ "$(timeout 5 squeue -h -n train+1 -o '%D %N')" = "2 n[2-3]" ] || fail "the extension is on $(timeout 5 squeue -h -n train+1 -o '%D %N')"
sleep 6
base_has 4 || fail "it did not stay there"
[ "$(grep -c '"event":"extension"' "$dir/log/malleable_events.jsonl")" = 1 ] || fail "its extensions come and go"

guest=$(on n2 1)
wait_for 20 "a GPU given back" is_state "$guest" RUNNING
wait_for 20 "two ranks" base_has 2
timeout 10 scancel "$guest"
wait_for 90 "four ranks again" base_has 4
wait_for 90 "end of the base" is_state "$base" COMPLETED
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted
