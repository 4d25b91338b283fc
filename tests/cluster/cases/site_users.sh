# SPDX-License-Identifier: BSD-3-Clause
# A resize under site conditions: an ordinary user's job, SlurmUser=slurm, slurmdbd, a prolog and an epilog, a
# job_submit.lua in addition to ringrt's plugin, and cgroups if the machine has them.
. "$here/site.sh"
site_up
echo 1 >"$dir/prolog_seconds"

# Other jobs hold all GPUs but two for a while: the job grows when they have ended.
blocker=$(user_rigid bob 600 -p large --gpus=12 --nodes=3 --exclude=n3)
wait_for 20 "start of bob's job" is_state "$blocker" RUNNING
user_job alice asked --malleable=1:4 --nice=5 -- 100000 100
wait_for 60 "run on all that is left" runs_with "$job" 2
as bob scancel "$blocker"
wait_for 90 "growth" runs_with "$job" 4
check_steps
has_field "$job" Nice 5 || fail "its nice value is $(field "$job" Nice)"
[ "$(stat -c %U "$directory/log" 2>/dev/null)" != root ] || fail "the job ran as root"

if [ -s "$dir/job_submit.lua" ] && grep -q 'JobSubmitPlugins=.*lua' "$dir/slurm.conf"; then
    as carol sbatch --malleable=1:2 --comment="refused by the site" -o /dev/null --wrap true 2>"$work/refusal" && fail "job_submit.lua was not asked"
    grep -q "refuses this job" "$work/refusal" || fail "the refusal says: $(cat "$work/refusal")"
fi
