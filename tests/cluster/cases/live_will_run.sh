# SPDX-License-Identifier: BSD-3-Clause
# Resizing in place while the idle GPUs are on nodes without a feature that the training requests in an expression
# which the controller does not interpret ("fast|wide"). Slurm reports that it would not start an extension of an
# ordinary user's training now, so none is submitted. The training grows once the nodes have the feature.
. "$here/live.sh"
user=nobody directory=$work/live_will_run steps=100000
own_directory
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
set_features() { timeout 10 scontrol update nodename="$1" availablefeatures="$2" activefeatures="$2" || fail "no features"; }
trap 'set_features "n[1-4]" ""' EXIT
set_features n1 wide,fast
blocker=$(user='' rigid 3 600 -w n1)
wait_for 30 "start of the rigid job" is_state "$blocker" RUNNING
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=1:4 -C 'fast|wide' -o "$directory/base" --wrap "srun -n \$SLURM_NTASKS $live $steps 200") ||
    fail "sbatch refused the base"
wait_for 30 "steps of the base" base_has 1
told() { grep -q "$1" "$dir/log/malleable_events.jsonl"; }
wait_for 30 "word that it would wait" told 'would not start an extension of 1 GPU now'
sleep 6
[ "$(count_events "$base" extension)" -ge 1 ] || fail "no event"
! told 'submitted' || fail "an extension was submitted that could not start"
others=$(timeout 5 squeue -h -t all -o '%i %j' | awk -v base="$base" '$1 + 0 > base')
[ -z "$others" ] || fail "Slurm knows of another job: $others"
set_features 'n[2-4]' fast
wait_for 60 "four ranks, once nodes have the feature" base_has 4
timeout 10 scancel "$base" "$blocker"
wait_for 30 "end of all" no_jobs
check_each_step_once 10 $steps
