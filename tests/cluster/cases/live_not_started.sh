# SPDX-License-Identifier: BSD-3-Clause
# seconds: 400
# Extensions that Slurm does not start, or refuses (doc/live.md, "Crash points"). A job is pending, so the controller
# does not ask Slurm first. The idle GPUs are on nodes without a feature that the training requests in an expression
# which the controller does not interpret ("fast|wide"): Slurm leaves the extension pending, and the controller
# cancels it after fit_wait_s. Then the partition accepts no jobs: Slurm refuses the next one. Both are tried again
# after back_off_s. The training is undisturbed, and grows when Slurm lets it.
. "$here/live.sh"
user=nobody directory=$work/live_not_started steps=100000
own_directory
set_yaml "$(sed 's/^back_off_s: .*/back_off_s: 2/' "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
set_features() { timeout 10 scontrol update nodename="$1" availablefeatures="$2" activefeatures="$2" || fail "no features"; }
partition=$(timeout 10 sinfo -h -o %R | head -n 1)
set_partition() { timeout 10 scontrol update partitionname="$partition" state="$1" || fail "no partition"; }
trap 'set_partition UP; set_features "n[1-4]" ""; scancel_all' EXIT
set_features n1 wide,fast
blocker=$(user='' rigid 3 600 -w n1)
wait_for 30 "start of the rigid job" is_state "$blocker" RUNNING
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=1:4 -C 'fast|wide' -o "$directory/base" --wrap "srun -n \$SLURM_NTASKS $live $steps 200") ||
    fail "sbatch refused the base"
held=$(as_user sbatch --parsable -J held -H -o /dev/null --wrap true) || fail "sbatch refused the pending job"
wait_for 30 "steps of the base" base_has 1
events() { grep -c "$1" "$dir/log/malleable_events.jsonl"; }
has_events() { [ "$(events "$1")" -ge "$2" ]; }
cancelled='extension [0-9]* was not started in time: cancelled'
wait_for 60 "an extension that is cancelled" has_events "$cancelled" 1
wait_for 60 "a second one" has_events "$cancelled" 2
base_has 1 || fail "the training has $(last_ranks) ranks"
extensions() { timeout 5 squeue -h -o %j | grep -c 'train+'; }

set_partition DRAIN
wait_for 60 "a refusal" has_events 'Slurm refused an extension' 1
wait_for 60 "a second refusal" has_events 'Slurm refused an extension' 2
[ "$(extensions)" = 0 ] || fail "extensions are left"
base_has 1 || fail "the training has $(last_ranks) ranks"

set_features 'n[2-4]' fast
set_partition UP
wait_for 120 "four ranks, once Slurm starts extensions" base_has 4
timeout 10 scancel "$base" "$blocker" "$held"
wait_for 30 "end of all" no_jobs
check_never_restarted
check_each_step_once 10 $steps
