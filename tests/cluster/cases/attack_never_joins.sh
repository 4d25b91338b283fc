# SPDX-License-Identifier: BSD-3-Clause
# resize: live. A job falsely reports that it can be resized in place, so it gets extensions, which never join. They
# give their GPUs to a rigid job at once, not after the five minutes that an honest program may need to join. Its
# other reports are impossible numbers: no other job is affected, and it keeps its base.
. "$here/site.sh"
sed -i '$aresize: live' "$work/malleable.yaml"
site_up
before=$("$cluster" daemon "$dir" pid slurmctld)
cat >"$work/liar.sh" <<'SCRIPT'
#!/bin/bash
[ "$SLURM_PROCID" = 0 ] && [ -z "$RINGRT_EXTENDS" ] || exec sleep 1000
say() { scontrol update jobid="$SLURM_JOB_ID" comment="$1"; sleep 0.3; }
until [ -e enough ]; do say "ringrt/1 run=0 gpus=1 step=$SECONDS step_ms=100 left=100000 ckpt=0 up=1 live=1 speed=1:100"; done
while :; do
    for number in nan inf -1 1e308 99999999999999999999 0 ''; do
        for key in gpus step step_ms left batch samples save_ms began nodes; do
            say "ringrt/1 run=0 gpus=1 step=1 step_ms=100 live=1 $key=$number speed=1:$number,2:$number"
        done
    done
done
SCRIPT
chmod 755 "$work/liar.sh"
directory=$dir/home/alice/liar
as alice mkdir -p "$directory"
job=$(as alice env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J liar -D "$directory" -o /dev/null --malleable=1:4 \
    --exclude=n2,n3 --wrap "srun -n \$SLURM_NTASKS $work/liar.sh") || fail "sbatch refused the liar"
liar=$job
both_run() { [ "$(as alice squeue -h --me -t R -o %j | grep -c 'liar+')" = 2 ]; }
wait_for 60 "two extensions" both_run
guest=$(user_rigid bob 600 --gpus=3 --nodes=1 --exclude=n2,n3)
wait_for 60 "start of bob's job" is_state "$guest" RUNNING
is_state "$liar" RUNNING && [ "$(field "$liar" Restarts)" = 0 ] || fail "the base is $(state_of "$liar")"

touch "$directory/enough"
user_job carol honest --malleable=1:4 --exclude=n1,n3 -- 100000 100
wait_for 60 "four GPUs of carol's job" runs_with "$job" 4
as bob scancel "$guest"
sleep 10 # some thirty reports
[ "$("$cluster" daemon "$dir" pid slurmctld)" = "$before" ] && answers || fail "slurmctld ended or does not answer"
runs_with "$job" 4 && [ "$(starts)" -le 2 ] || fail "carol's job was touched"
guest=$(user_rigid bob 600 --gpus=2 --nodes=1 --exclude=n1,n3)
wait_for 60 "start of bob's next job" is_state "$guest" RUNNING
is_state "$liar" RUNNING && [ "$(field "$liar" Restarts)" = 0 ] || fail "the base is $(state_of "$liar")"
wait_for 60 "two GPUs of carol's job" runs_with "$job" 2
check_steps
