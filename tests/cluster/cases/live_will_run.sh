# SPDX-License-Identifier: BSD-3-Clause
# Resizing in place on nodes whose GPUs are free, while jobs without GPUs hold all CPUs. Slurm reports that it
# would not start an extension of an ordinary user's training now, so none is submitted. The training grows
# once those jobs are gone.
. "$here/live.sh"
user=nobody directory=$work/live_will_run steps=100000
own_directory
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
cpu_job() { # NODE CPUS
    timeout 20 sbatch --parsable -J cpus -o /dev/null -w "$1" -N1 -n1 -c "$2" --wrap 'sleep 600' || fail "sbatch refused it"
}
cpus=()
for node in n2 n3 n4; do cpus+=("$(cpu_job $node 16)"); done
cpus+=("$(cpu_job n1 15)")
for job in "${cpus[@]}"; do wait_for 30 "start of the CPUs' jobs" is_state "$job" RUNNING; done
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=1:4 -o "$directory/base" --wrap "srun -n \$SLURM_NTASKS $live $steps 200") ||
    fail "sbatch refused the base"
wait_for 30 "steps of the base" base_has 1
told() { grep -q "$1" "$dir/log/malleable_events.jsonl"; }
wait_for 30 "word that it would wait" told 'would not start an extension of 1 GPU now'
sleep 6
[ "$(count_events "$base" extension)" -ge 1 ] || fail "no event"
! told 'submitted' || fail "an extension was submitted that could not start"
others=$(timeout 5 squeue -h -t all -o '%i %j' | awk -v base="$base" '$1 + 0 > base')
[ -z "$others" ] || fail "Slurm knows of another job: $others"
timeout 10 scancel -n cpus
wait_for 60 "four ranks, once there are CPUs" base_has 4
timeout 10 scancel "$base"
wait_for 30 "end of all" no_jobs
check_each_step_once 10 $steps
