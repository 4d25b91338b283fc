# SPDX-License-Identifier: BSD-3-Clause
# With ringrtd, other users' heterogeneous jobs are accepted and run, even while a malleable job is resized
# for them. Slurm refuses them all if SchedulerType is not sched/backfill.
only_with daemon "Slurm refuses heterogeneous jobs with SchedulerType=sched/doubling"
start_job wide --malleable=1:16 -- 100000 100
wait_for 30 "start with 16 GPUs" runs_with "$job" 16
het=$(timeout 20 sbatch --parsable -J het -o "$work/het.out" -n1 --gpus=2 : -n1 --gpus=4 \
    --wrap 'srun --het-group=0,1 sh -c "echo component \$SLURM_PROCID of \$SLURM_NTASKS; sleep 2"') ||
    fail "sbatch refused a heterogeneous job"
has_ended() { [ "$(state_of "$het" | sort -u)" = COMPLETED ]; } # Slurm lists all its parts
wait_for 90 "end of the heterogeneous job" has_ended
[ "$(grep -c '^component' "$work/het.out")" = 2 ] || fail "its parts did not run: $(cat "$work/het.out")"
has_event "$job" asked || fail "the malleable job made no room"
wait_for 60 "the malleable job again" is_state "$job" RUNNING
check_steps
