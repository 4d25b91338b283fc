# SPDX-License-Identifier: BSD-3-Clause
# A job that holds all licences of a kind (-L solver:4) grows in place. Its extensions take none and wait for
# none, and the job holds its licences from start to end. A job resized by requeue has them again afterwards.
. "$here/site.sh"
. "$here/live.sh"
echo 'resize: live' >>"$work/malleable.yaml"
site_up
steps=150 directory=$dir/home/alice/live
used() { timeout 10 scontrol -o show lic solver | sed -n 's/.* Used=\([0-9]*\).*/\1/p'; }
are_used() { [ "$(used)" = "$1" ]; }
as alice mkdir -p "$directory"
base=$(as alice env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train -L solver:4 --malleable=1:4 -D "$directory" -o "$directory/base" \
    --wrap "srun -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused the base"
wait_for 60 "four ranks" base_has 4
are_used 4 || fail "$(used) licences are used"
wait_for 120 "end of the base" is_state "$base" COMPLETED
wait_for 30 "end of its extensions" no_jobs
check_each_step_once $steps $steps
check_never_restarted
are_used 0 || fail "$(used) licences are used in the end"

user_job bob requeued -L solver:3 --malleable=1:4 --exclude=n3 -- 100000 100
wait_for 60 "four GPUs" runs_with "$job" 4
user_rigid carol 600 --gpus=6 --exclude=n3 >"$work/rigid"
wait_for 60 "two GPUs" runs_with "$job" 2
are_used 3 || fail "$(used) licences are used after a resize"

# Another job waits for these licences, and would take them while it restarts.
guest=$(as alice sbatch --parsable -L solver:2 -n1 -D / -o /dev/null --wrap "sleep 600")
wait_for 30 "wait for licences" has_field "$guest" Reason Licenses
before=$(count_events "$job" asked)
as carol scancel "$(cat "$work/rigid")"
sleep 10
[ "$(count_events "$job" asked)" = "$before" ] || fail "it was asked to grow, and would lose its licences"
is_state "$guest" PENDING || fail "the other job is $(state_of "$guest")"
as alice scancel "$guest"
wait_for 60 "four GPUs again" runs_with "$job" 4
check_steps
